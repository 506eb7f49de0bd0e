# SPDX-License-Identifier: Apache-2.0
"""ctx.picture of each kind on each kind of mesh, by Debian's VTK with Xvfb and by the newest from PyPI without any X server: the colours
at places whose values are known, and areas of shapes that are known. One run of two ranks with each VTK."""
import subprocess

import numpy as np
import pytest
from judges import environment
from leat_run import BUILD
from picture_run import at_shares, box_of, colour_of, coloured, debians_python, draw, expect_colours, image
from without_xarray import without_xarray  # noqa: F401

DATA = """
<parameter name="t" type="double" value="0.25"/><time parameter="t" unit="s"/>
<mesh name="box" type="uniform" origin="1,2,3" spacing="0.5,0.25,0.5" unit="m"/>
<layout name="layer" type="double" dimensions="3,8,10" global="4,6,8" ghosts="1,1,1" names="z,y,x"/>
<variable name="T" layout="layer" mesh="box" unit="K"/>
<mesh name="cube" type="uniform" origin="0,0,0" spacing="0.05,0.05,0.05"/>
<layout name="half" type="float" dimensions="10,20,20" global="20,20,20" names="z,y,x"/>
<variable name="r" layout="half" mesh="cube"/><variable name="height" layout="half" mesh="cube"/>
<variable name="same" layout="half" mesh="cube"/><variable name="sparse" layout="half" mesh="cube"/>
<mesh name="plate" type="rectilinear" coordinates="px,py"/>
<layout name="pxs" type="double" dimensions="4" global="4" names="px"/>
<layout name="pys" type="double" dimensions="3" global="3" names="py"/>
<variable name="px" layout="pxs" time-varying="false"/><variable name="py" layout="pys" time-varying="false"/>
<layout name="plated" type="int" dimensions="2,3" global="2,3" names="row,column"/><variable name="n" layout="plated" mesh="plate"/>
<mesh name="ring" type="curvilinear" coordinates="cx,cy"/><layout name="nodes" type="double" dimensions="5,41" names="radius,phi"/>
<layout name="cells" type="double" dimensions="4,40" names="between_radius,between_phi"/>
<variable name="cx" layout="nodes"/><variable name="cy" layout="nodes"/><variable name="angle" layout="cells" mesh="ring"/>
<mesh name="body" type="unstructured" coordinates="at" connectivity="ids" cells="triangle"/>
<layout name="points" type="double" dimensions="?,3" names="point,xyz"/><layout name="integers" type="int" dimensions="?"/>
<layout name="per_cell" type="double" dimensions="?"/>
<variable name="at" layout="points" time-varying="false"/><variable name="ids" layout="integers" time-varying="false"/>
<variable name="stress" layout="per_cell" mesh="body"/><variable name="flow" layout="points" mesh="body" centering="nodal"/>
<mesh name="atoms" type="points" coordinates="x"/><layout name="atom" type="int" dimensions="?"/>
<variable name="x" layout="points"/><group name="atoms"><variable name="type" layout="atom" mesh="atoms"/></group>
<mesh name="square" type="amr" levels="2" ratio="2" origin="0,0" spacing="1,1"/>
<layout name="patch" type="double" dimensions="4,4" names="y,x"/><variable name="dye" layout="patch" mesh="square"/>
<layout name="loose" type="double" dimensions="3,5" global="3,5" names="row,column"/><variable name="bare" layout="loose"/>
<layout name="line" type="double" dimensions="7" global="7"/><variable name="profile" layout="line"/>
<layout name="waves" type="complex64" dimensions="3,5" global="3,5"/><variable name="wave" layout="waves"/>
<variable name="holes" layout="layer" mesh="box"/>
<variable name="wild" layout="loose"/>
<mesh name="lost" type="points" coordinates="lx"/><variable name="lx" layout="points"/><variable name="number" layout="atom" mesh="lost"/>
<mesh name="deep" type="amr" levels="2" ratio="2" origin="0,0,0" spacing="1,1,1"/>
<layout name="cube_patch" type="double" dimensions="4,4,4" names="z,y,x"/><variable name="heat" layout="cube_patch" mesh="deep"/>
"""
LAYER = np.arange(6 * 8.0).reshape(6, 8)
X, Y, Z = (np.mgrid[:20, :20, :20][axis] * 0.05 + 0.025 for axis in (2, 1, 0))
RADII, ANGLES = np.linspace(1, 2, 5)[:, None], np.linspace(0, 2 * np.pi, 41)
WILD = [[1, 2, 3, 4, 5], [np.nan, np.inf, -np.inf, 1e308, -1e308], [5, 4, 3, 2, 1]]
PLACES = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 0.0]])


def with_ghosts(layer):
    """A block of one own layer, with values all around that must never be seen."""
    block = np.full((3, 8, 10), 1e9)
    block[1, 1:-1, 1:-1] = layer
    return block


def arrays():
    ranks = []
    for rank in range(2):
        own = {}
        for block in range(2):
            z = 2 * rank + block
            own.update({(f"T#{block}", 0): with_ghosts(LAYER + 100 * z), (f"T#{block}", "position"): [z, 0, 0]})
            if z != 2:
                layer = LAYER + 100 * z
                layer[0, 0] = np.nan if z == 0 else layer[0, 0]
                own.update({(f"holes#{block}", 0): with_ghosts(layer), (f"holes#{block}", "position"): [z, 0, 0]})
        half = slice(10 * rank, 10 * rank + 10)
        radius = np.sqrt((X - 0.5) ** 2 + (Y - 0.5) ** 2 + (Z - 0.5) ** 2)[half].astype("f4")
        sparse = radius.copy()
        sparse[0, 0, 0] = np.nan
        for name, values in dict(r=radius, height=Z[half], same=np.full((10, 20, 20), 0.5), sparse=sparse).items():
            own.update({(name, 0): values.astype("f4"), (name, "position"): [10 * rank, 0, 0]})
        own.update({("at", 0): PLACES + [0, 2.0 * rank, 0], ("ids", 0): np.array([0, 1, 2, 1, 2, 3], "i4"),
                    ("stress", 0): np.array([0, 1.0]) + 2 * rank, ("flow", 0): np.array([[3, 4.0, 0]] * 4) * (1 + rank),
                    ("x", 0): np.array([[0, 0, 0], [4, 0, 0.0]]) + [0, 0, 3.0 * rank],
                    ("atoms/type", 0): np.array([1, 2], "i4") + 2 * rank,
                    ("dye", 0): np.arange(16.0).reshape(4, 4) + 16 * rank, ("square", "level"): [0, 0, 0] if rank == 0 else [1, 2, 2],
                    ("heat", 0): np.arange(64.0).reshape(4, 4, 4) + 64 * rank, ("deep", "level"): [rank, 2 * rank, 2 * rank, 2 * rank]})
        ranks.append(own)
    ranks[0].update({("px", 0): np.array([0, 1, 3, 7.0]), ("py", 0): np.array([0, 1, 4.0]),
                     ("n", 0): np.arange(6, dtype="i4").reshape(2, 3), ("cx", 0): RADII * np.cos(ANGLES), ("cy", 0): RADII * np.sin(ANGLES),
                     ("angle", 0): np.broadcast_to(np.arange(40.0), (4, 40)), ("bare", 0): np.arange(15.0).reshape(3, 5),
                     ("wild", 0): np.array(WILD), ("lx", 0): np.array([[0, 0, 0], [3, 0, 0], [np.nan, 1, 0], [0, np.inf, 0], [0, 3.0, 0]]),
                     ("number", 0): np.arange(5, dtype="i4"), ("profile", 0): np.arange(7.0), ("wave", 0): np.zeros((3, 5), "c8")})
    return ranks


CALLS = [
    'picture("slice", "slice", "T", axis="z", at=3.75)',
    'picture("border", "slice", "T", at=4, range=(0, 347))',
    'picture("across_x", "slice", "T", axis="x", range=(0, 347))',
    'picture("across_y", "slice", "T", axis="y", at=2.0, range=(0, 347), size=(500, 400))',
    'picture("cube", "slice", "height", axis="y")',
    'picture("sphere", "contour", "r", values=[0.3], camera=(0, -1, 0), color_by="height")',
    'picture("spheres", "contour", "sparse")',
    'picture("nowhere", "contour", "r", values=[5])',
    'picture("even", "volume", "same", range=(0, 1), camera=(0, -1, 0))',
    'picture("ball", "volume", "sparse", camera=(0, -1, 0), colors="viridis_r")',
    'picture("plate", "slice", "n")',
    'picture("ring", "slice", "angle")',
    'picture("ring_line", "contour", "angle", values=9.5, range=(0, 19))',
    'picture("body", "slice", "stress")',
    'picture("flow", "slice", "flow", range=(0, 10))',
    'picture("atoms", "particles", "atoms/type", camera=(0, -1, 0), radius=0.5)',
    'picture("plain", "particles", "x")',
    'picture("by_type", "particles", "x", color_by="atoms/type", camera=(0, -1, 0), radius=0.5)',
    'picture("amr", "slice", "dye", edges=True)',
    'picture("amr_line", "contour", "dye", values=10)',
    'picture("bare", "slice", "bare")',
    'picture("wild", "slice", "wild")',
    'picture("wild_line", "contour", "wild", values=2.5)',
    'picture("lost", "particles", "number", radius=0.5)',
    'picture("deep", "slice", "heat", at=2.2, range=(0, 127))',
    'picture("deep_contour", "contour", "heat", values=50)',
    'picture("deep_volume", "volume", "heat")',
    'picture("above", "contour", "r", values=[0.3], camera=(0, 0, 1), color_by="height")',
    'picture("bare_line", "contour", "bare", values=[7])',
    'picture("holes", "slice", "holes", axis="y", at=2.1, range=(0, 347))',
    'picture("gray", "slice", "bare", colors="gray", size=(300, 200))',
    # What cannot be drawn
    'picture("outside", "slice", "T", at=9)',
    'picture("profile", "slice", "profile")',
    'picture("wave", "slice", "wave")',
    'picture("kind", "slise", "T")',
    'picture("variable", "slice", "temperatur")',
    'picture("colors", "slice", "T", colors="viridiss")',
    'picture("other", "slice", "T", color_by="stress")',
    'picture("no_points", "particles", "T")',
    'picture("points", "slice", "atoms/type")',
    'picture("flat", "volume", "dye")',
    'picture("twice", "slice", "bare"); picture("twice", "slice", "bare")',
    'picture("a/b", "slice", "T")',
    'picture("axis", "slice", "T", axis="w")',
    'picture("size", "slice", "T", size=(1, 1))',
    'picture("range", "slice", "T", range=(2, 1))',
    'picture("infinite", "slice", "T", range=(0, float("inf")))',
    'picture("radius", "particles", "x", radius=-1)',
    'picture("camera", "contour", "r", camera=(0, 0, 0))',
]


@pytest.fixture(scope="module", params=["debian", "newest"])
def drawn(request, tmp_path_factory):
    """(what ctx.picture gave or raised, the log, function that reads a picture, ...)."""
    folder = tmp_path_factory.mktemp(request.param)
    python = debians_python() if request.param == "debian" else environment() / "bin/python"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DISPLAY", raising=False)
        log, told = draw(folder, python, DATA, arrays(), CALLS)
    assert told, log
    return told, log, lambda name: image(folder / f"run-scripts/draws/{name}-000000.png"), (folder, python)


@pytest.fixture
def stored(drawn):
    """(folder of the run, Python)."""
    return drawn[3]


def centres(count, weights=None):
    """Shares of the whole at which its parts have their middles."""
    weights = np.ones(count) if weights is None else np.asarray(weights, float)
    return (np.cumsum(weights) - weights / 2) / weights.sum()


def expect_cells(picture, values, low, high, widths=None, heights=None):
    """The field fills a rectangle; each cell has the colour of its value. Returns the rectangle."""
    rows, columns = np.shape(values)
    box = box_of(coloured(picture))
    up, across = np.meshgrid(centres(rows, heights), centres(columns, widths), indexing="ij")
    expect_colours(at_shares(picture, box, across, up), colour_of(values, low, high))
    return box


def ratio(box):
    return (box[3] - box[2]) / (box[1] - box[0])


def test_a_slice_has_the_cells_of_its_layer_from_blocks_of_several_ranks_without_their_ghosts(drawn):
    picture = drawn[2]("slice")
    assert picture.shape == (600, 800, 3)
    box = expect_cells(picture, LAYER + 100, 0, 347)
    assert ratio(box) == pytest.approx(8 * 0.5 / (6 * 0.25), rel=0.01)


def test_a_plane_on_a_border_between_cells_shows_one_of_them(drawn):
    picture = drawn[2]("border")
    box = box_of(coloured(picture))
    (middle,) = at_shares(picture, box, [0.5], [0.5])
    both = colour_of([LAYER[3, 4] + 100, LAYER[3, 4] + 200], 0, 347)
    assert np.abs(both - middle).max(-1).min() <= 12, middle


def test_slices_across_x_and_y_have_z_upwards(drawn):
    whole = np.stack([LAYER + 100 * z for z in range(4)])
    expect_cells(drawn[2]("across_x"), whole[:, :, 3], 0, 347)
    picture = drawn[2]("across_y")
    assert picture.shape == (400, 500, 3)
    expect_cells(picture, whole[:, 0], 0, 347)


def pixels_of_cube(drawn):
    """Of its side: as high as the same cube in a slice, which fills it."""
    first, end, left, right = box_of(coloured(drawn[2]("cube")))
    assert end - first == pytest.approx(right - left, abs=2)
    return end - first


def test_a_contour_of_a_sphere_has_its_area_and_the_colours_of_another_variable(drawn):
    picture, side = drawn[2]("sphere"), pixels_of_cube(drawn)
    found = coloured(picture)
    box = box_of(found)
    assert box[1] - box[0] == pytest.approx(0.6 * side, rel=0.02) and ratio(box) == pytest.approx(1, rel=0.02)
    filled = found | (np.ptp(picture, axis=-1) > 8) & (np.arange(800) < 600)
    assert filled.sum() == pytest.approx(np.pi * 0.3 ** 2 * side ** 2, rel=0.04)
    low, high = at_shares(picture, box, [0.5, 0.5], [0.2, 0.8])
    assert low[2] > low[1] and high[1] > high[2], "viridis from blue below to green above"


def test_contours_leave_out_what_is_no_number_and_may_be_empty(drawn):
    told, log, picture, _ = drawn
    assert coloured(picture("spheres")).mean() > 0.05
    assert told["nowhere"] != "None" and not coloured(picture("nowhere")).any() and "FAILED" not in log


def test_a_volume_mixes_the_colour_of_its_value_with_white(drawn):
    picture, side = drawn[2]("even"), pixels_of_cube(drawn)
    box = box_of(coloured(picture))
    assert box[1] - box[0] == pytest.approx(side, abs=3)
    (middle,) = at_shares(picture, box, [0.47], [0.53])
    own = colour_of(0.5, 0, 1)
    opacity = (255 - middle) / (255 - own)
    assert opacity.min() > 0.6 and np.ptp(opacity) < 0.06, opacity


def test_a_volume_is_dense_where_values_are_great(drawn):
    """"sparse" is the distance from the middle, with a NaN in a corner: corners are dense, and the middle is not."""
    picture, box = drawn[2]("ball"), box_of(coloured(drawn[2]("cube")))
    corner, middle = at_shares(picture, box, [0.94, 0.5], [0.94, 0.53])
    assert corner.sum() < middle.sum() - 60


def test_a_rectilinear_mesh_has_cells_of_their_widths(drawn):
    box = expect_cells(drawn[2]("plate"), [[0, 1, 2], [3, 4, 5]], 0, 5, widths=[1, 2, 4], heights=[1, 3])
    assert ratio(box) == pytest.approx(7 / 4, rel=0.01)


def test_a_curvilinear_mesh_is_where_its_nodes_are(drawn):
    picture = drawn[2]("ring")
    box = box_of(coloured(picture))
    middles = (np.arange(40) + 0.5) * 2 * np.pi / 40
    for radius in (1.1, 1.6, 1.9):
        found = at_shares(picture, box, 0.5 + radius / 4 * np.cos(middles), 0.5 + radius / 4 * np.sin(middles))
        expect_colours(found, colour_of(np.arange(40), 0, 39))
    assert (at_shares(picture, box, [0.5, 0.03], [0.5, 0.03]) == 255).all(), "nothing is drawn inside and outside of it"
    line = coloured(drawn[2]("ring_line"))
    assert 0.0005 < line.mean() < 0.01 and box_of(line)[0] < 300, "angle 9.5 of 40 is upwards"


def test_an_unstructured_mesh_has_the_cells_of_all_ranks_and_vectors_their_length(drawn):
    picture = drawn[2]("body")
    box = box_of(coloured(picture))
    assert ratio(box) == pytest.approx(2 / 3, rel=0.02)
    across, up = [0.2, 0.8, 0.2, 0.8], [0.08, 0.25, 0.75, 0.92]
    expect_colours(at_shares(picture, box, across, up), colour_of([0, 1, 2, 3], 0, 3))
    expect_colours(at_shares(drawn[2]("flow"), box, across, up), colour_of([5, 5, 10, 10], 0, 10))


def blobs(picture, values, low, high):
    """Middles (x, y) of what has the colours of these values, dimmed by light or not; and how many pixels that is."""
    wanted = colour_of(values, low, high)
    shades = picture[..., None, :] - wanted * (picture.max(-1) / 255.0)[..., None, None] * (255 / wanted.max(-1))[:, None]
    near = (np.abs(shades).max(-1) < 20) & coloured(picture)[..., None]
    return np.array([np.argwhere(near[..., i]).mean(0)[::-1] for i in range(len(values))]), near.sum((0, 1))


@pytest.mark.parametrize("name", ["atoms", "by_type"])
def test_particles_are_balls_in_their_places_with_their_colours(drawn, name):
    middles, counts = blobs(drawn[2](name), [1, 2, 3, 4], 1, 4)
    length = middles[1][0] - middles[0][0]
    assert np.allclose(middles[1:] - middles[0], np.array([[1, 0], [0, -0.75], [1, -0.75]]) * length, atol=4)
    assert np.allclose(counts, np.pi * (0.5 * length / 4) ** 2, rtol=0.35), counts


def test_particles_alone_have_one_colour(drawn):
    picture = drawn[2]("plain")
    found = coloured(picture)
    hues = picture[found] / picture[found].max(-1, keepdims=True)
    assert found.sum() > 1000 and np.ptp(hues, axis=0).max() < 0.35


def test_finer_patches_are_drawn_over_coarser_cells_with_their_borders(drawn):
    picture = drawn[2]("amr")
    box = box_of(coloured(picture))
    shares = centres(4)
    up, across = np.meshgrid(shares, shares, indexing="ij")
    values = np.arange(16.0).reshape(4, 4)
    is_under = np.zeros((4, 4), bool)
    is_under[1:3, 1:3] = True
    expect_colours(at_shares(picture, box, across, up)[~is_under], colour_of(values, 0, 31)[~is_under])
    fine = 0.25 + 0.5 * shares
    up, across = np.meshgrid(fine, fine, indexing="ij")
    expect_colours(at_shares(picture, box, across, up), colour_of(values + 16, 0, 31))
    first, end, left, right = box
    inner = picture[first + 20:end - 20, left + (right - left) // 4 - 2:left + (right - left) // 4 + 3]
    light = inner.sum(-1)
    dark = light.min(1) < 0.7 * np.minimum(light[:, 0], light[:, -1])
    assert dark.mean() == pytest.approx(0.5, abs=0.1), "the left border of the finer patch"
    assert coloured(drawn[2]("amr_line")).sum() > 200


def test_a_variable_without_a_mesh_is_drawn_over_its_indices(drawn):
    box = expect_cells(drawn[2]("bare"), np.arange(15).reshape(3, 5), 0, 14)
    assert ratio(box) == pytest.approx(5 / 3, rel=0.01)
    picture = drawn[2]("gray")
    assert picture.shape == (200, 300, 3) and (np.ptp(picture, axis=-1) < 3).all()


def test_a_contour_of_a_flat_mesh_is_a_line(drawn):
    line, box = coloured(drawn[2]("bare_line")), box_of(coloured(drawn[2]("bare")))
    for share, up in ((0.3, 0.5 + 1 / 15), (0.5, 0.5), (0.7, 0.5 - 1 / 15)):  # a fifth of a row lower with each column
        rows = np.flatnonzero(line[:, round(box[2] + share * (box[3] - box[2]))])
        assert (box[1] - rows.mean()) / (box[1] - box[0]) == pytest.approx(up, abs=0.02)


def test_infinities_have_the_colours_of_the_ends_and_no_place(drawn):
    box = box_of(coloured(drawn[2]("bare")))
    up, across = np.meshgrid(centres(3), centres(5), indexing="ij")
    expected = colour_of(np.nan_to_num(WILD), 1, 5)
    expected[1, 0] = 191
    expect_colours(at_shares(drawn[2]("wild"), box, across, up), expected)
    assert drawn[0]["wild_line"].endswith(".png")
    middles, counts = blobs(drawn[2]("lost"), [0, 1, 4], 0, 4)
    length = middles[1][0] - middles[0][0]
    assert np.allclose(middles[2] - middles[0], [0, -length], atol=4) and (counts > 1000).all(), "two atoms are nowhere"


def test_patches_in_three_dimensions(drawn):
    """z = 2.2 is in the coarse layer 2 and, where the finer patch is, from 1 to 3, in its layer 2."""
    picture = drawn[2]("deep")
    box, shares = box_of(coloured(picture)), centres(4)
    up, across = np.meshgrid(shares, shares, indexing="ij")
    is_under = np.zeros((4, 4), bool)
    is_under[1:3, 1:3] = True
    layer = np.arange(16).reshape(4, 4) + 32
    expect_colours(at_shares(picture, box, across, up)[~is_under], colour_of(layer, 0, 127)[~is_under])
    up, across = np.meshgrid(0.25 + 0.5 * shares, 0.25 + 0.5 * shares, indexing="ij")
    expect_colours(at_shares(picture, box, across, up), colour_of(layer + 64, 0, 127))
    assert coloured(drawn[2]("deep_contour")).mean() > 0.01 and coloured(drawn[2]("deep_volume")).mean() > 0.05


def test_who_looks_along_z_has_y_upwards(drawn):
    found = box_of(coloured(drawn[2]("above")))
    assert found[1] - found[0] == pytest.approx(0.6 * pixels_of_cube(drawn), rel=0.02) and ratio(found) == pytest.approx(1, rel=0.02)


def test_what_nobody_wrote_is_left_out_and_what_is_no_number_is_grey(drawn):
    picture, box = drawn[2]("holes"), box_of(coloured(drawn[2]("across_y")))
    box = tuple(round(side * ratio) for side, ratio in zip(box, (1.5, 1.5, 1.6, 1.6)))  # that is 500 x 400
    values = np.stack([LAYER[0] + 100 * z for z in range(4)])
    up, across = np.meshgrid(centres(4), centres(8), indexing="ij")
    found, expected = at_shares(picture, box, across, up), colour_of(values, 0, 347)
    expected[2], expected[0, 0] = 255, 191
    expect_colours(found, expected)


@pytest.mark.parametrize("name, said", [
    ("outside", 'ValueError: z = 9 does not go through "T", which lies from 3 to 5'), ("profile", '"profile" has no mesh, and 1 dimension'),
    ("wave", "VTK has no complex numbers"), ("kind", 'there is no picture of kind "slise"; did you mean "slice"?'),
    ("variable", 'there is no variable "temperatur"'), ("colors", 'no colours "viridiss"; did you mean "viridis"?'),
    ("other", 'color_by="stress": it does not lie on the mesh of "T"'), ("no_points", '"T" does not lie on a mesh of type "points"'),
    ("points", 'lies on a mesh of type "points": draw "particles"'), ("flat", '"dye" lies in a plane: draw a "slice"'),
    ("twice", 'was drawn already in iteration 0: say name="..."'), ("a/b", "it has a slash"), ("axis", '"x", "y" or "z" is expected'),
    ("size", "(width, height) in pixels is expected"), ("range", "range=(2, 1): (least, greatest) is expected"),
    ("infinite", "(least, greatest) is expected"), ("radius", "a number above 0 is expected"), ("camera", "the direction (x, y, z)")])
def test_what_cannot_be_drawn_is_said(drawn, name, said):
    assert said in drawn[0][name]


def test_a_stored_run_gives_the_same_pictures(tmp_path, stored):
    """But for holes: a file has NaN there, which is grey."""
    folder, python = stored
    words = [BUILD / "bin/leat", "replay", folder / "run.h5", folder / "draws.py", "--interpreter", python, "--output", tmp_path / "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {path.name: path.read_bytes() for path in (folder / "run-scripts/draws").iterdir()}
    again = {path.name: path.read_bytes() for path in (tmp_path / "out/draws").iterdir()}
    assert set(made) == set(again)
    assert sorted(name for name in made if made[name] != again[name]) == ["holes-000000.png", "latest-holes.png"]


def test_texts_are_not_cut_off_and_nothing_is_said_that_is_no_error(drawn):
    told, log, picture, _ = drawn
    for name in ("slice", "border", "across_x", "sphere", "even", "plate", "ring", "body", "by_type", "amr", "bare"):
        found = picture(name)
        inside = found[3:-3, 3:-3]
        assert (found != 255).sum() == (inside != 255).sum(), name
        assert (found[:, 660:].max(-1) < 100).any() and (found[:40].max(-1) < 100).any(), "colour bar and title"
    assert "warning: script" not in log and "FAILED" not in log, log
