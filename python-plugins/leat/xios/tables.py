# SPDX-License-Identifier: Apache-2.0
"""Which elements and attributes XIOS knows, and what becomes of those that have no equal. Source: src/config of XIOS 3."""

KINDS = ("field", "file", "axis", "domain", "grid", "scalar", "variable")
CONTAINERS = {f"{kind}_{what}": kind for kind in KINDS for what in ("definition", "group")}

# Of a grid with one of these in it: the same values; only some of them, or what they are reduced to; or other values.
SAME_VALUES = {"compute_connectivity_domain", "generate_rectilinear_domain", "redistribute_axis", "redistribute_domain",
               "redistribute_scalar"}
PARTS = {"zoom_axis", "zoom_domain", "extract_axis", "extract_domain"}
OTHER_VALUES = {"reduce_axis", "reduce_domain", "reduce_scalar", "interpolate_axis", "interpolate_domain", "expand_domain",
                "inverse_axis", "reorder_domain", "duplicate_scalar", "temporal_splitting", "reduce_axis_to_axis",
                "reduce_axis_to_scalar", "reduce_domain_to_axis", "reduce_domain_to_scalar", "reduce_scalar_to_scalar",
                "duplicate_scalar_to_axis", "extract_axis_to_scalar", "extract_domain_to_axis", "transformation"}
TRANSFORMATIONS = SAME_VALUES | PARTS | OTHER_VALUES

SERVICES = {"pool_definition", "pool", "service_definition", "service", "coupler_in_definition", "coupler_in",
            "coupler_out_definition", "coupler_out"}

ELEMENTS = {"simulation", "context", "calendar", *KINDS, *CONTAINERS, *TRANSFORMATIONS, *SERVICES}

EVERYWHERE = "id src"
# What is read; the rest has a line below.
_READ = {
    "simulation": "", "context": "start_date time_origin calendar_type timestep",
    "calendar": "type start_date time_origin timestep comment",
    "field": "name standard_name long_name comment unit operation freq_op level prec expr enabled grid_ref domain_ref axis_ref "
             "scalar_ref field_ref group_ref cell_methods compression_level add_offset scale_factor",
    "file": "name name_suffix description output_freq output_level enabled mode compression_level append split_freq group_ref",
    "axis": "name dim_name n_glo axis_ref group_ref", "scalar": "name scalar_ref group_ref",
    "domain": "name dim_i_name dim_j_name ni_glo nj_glo type domain_ref group_ref",
    "grid": "name description comment domain_ref axis_ref scalar_ref group_ref", "variable": "type name group_ref",
}

_VALUES = "coordinates and masks are given by the program, as variables of a mesh"
_PLACE = "ranks say where their blocks lie: leat_set_position"

# Of what has an equal only in part, or none: kind, attributes, what is so instead.
_LOST = (
    ("field", "default_value", "a value that is missing is NaN, or the _FillValue of its type"),
    ("field", "detect_missing_value", "what is NaN in one time step is NaN in the mean"),
    ("field", "freq_offset", "values are taken in the iteration that is due"),
    ("field", "valid_min valid_max cell_methods_mode ts_enabled ts_split_freq",
     "files have no such attribute"),
    ("field", "compression_type compression_params", "give the variable or the store compression="),
    ("file", "split_freq_format split_start_offset split_end_offset split_last_date",
     "files are called after the date with which they begin"),
    ("file", "timeseries ts_prefix", "variables of a file stay together"),
    ("file", "record_offset cyclic", "a file begins with the first iteration of its run"),
    ("file", "comment uuid_name uuid_format time_stamp_name time_stamp_format", "files have their own attributes"),
    ("axis domain scalar", "name standard_name long_name unit comment positive axis_type formula formula_term formula_bounds "
     "formula_term_bounds bounds_name lon_name lat_name bounds_lon_name bounds_lat_name label convert_from_factor value "
     "lonvalue_1d latvalue_1d lonvalue_2d latvalue_2d bounds mask mask_1d mask_2d nvertex nvertex_name bounds_lon_1d "
     "bounds_lat_1d bounds_lon_2d bounds_lat_2d area area_1d area_2d radius", _VALUES),
    ("grid", "mask_0d mask_1d mask_2d mask_3d mask_4d mask_5d mask_6d mask_7d", _VALUES),
    ("calendar", "day_length month_lengths year_length leap_year_drift leap_year_drift_offset leap_year_month",
     "calendars are those of the CF conventions"),
)
_NOTED = (
    ("field", "check_if_active read_access build_workflow_graph grid_path indexed_output conversion_by_netcdf "
     "chunking_blocksize_target chunking_weight", "the server knows by itself"),
    ("file", "type format convention convention_str par_access sync_freq min_digits read_metadata_par time_counter "
     "time_counter_name time_units using_server2 pool_writer writer pool_gatherer gatherer pool_reader reader",
     "the store writes one file of the run, with time and bounds by the CF conventions, while it goes on"),
    ("axis domain scalar", "begin n index data_n data_begin data_index ibegin ni jbegin nj i_index j_index data_dim data_ni "
     "data_nj data_ibegin data_jbegin data_i_index data_j_index prec chunking_weight chunking_weight_i chunking_weight_j "
     "n_distributed_partition", _PLACE),
    ("context", "output_dir attached_mode default_pool default_pool_writer default_pool_reader default_pool_gatherer "
     "default_writer default_gatherer default_reader default_using_server2", "say where the server works in <architecture>"),
)


def _spread(rows):
    return {(kind, name): what for kinds, names, what in rows for kind in kinds.split() for name in names.split()}


LOST, NOTED = _spread(_LOST), _spread(_NOTED)


def kind_of(tag):
    """A group takes the attributes of its kind."""
    return CONTAINERS.get(tag, tag)


def is_read(kind, name):
    return name in EVERYWHERE.split() or name in _READ.get(kind, "").split()


def known_attributes(kind):
    return [*EVERYWHERE.split(), *_READ.get(kind, "").split(),
            *(name for each, name in [*LOST, *NOTED] if each == kind)]
