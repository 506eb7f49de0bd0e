# SPDX-License-Identifier: Apache-2.0
"""Libraries that Debian's HDF5, Xerces-C and ICU want, and of which a wheel of Leat needs nothing, made small: libcurl, since nothing is
read from the network, and ICU's tables of languages and rare encodings: XML in UTF-8, UTF-16, Latin 1 and ASCII is read without."""
import os
import re
import subprocess

# These may return 0: who uses libcurl begins with the first, and ends when the others give no memory. All other calls fail.
ZERO = re.compile(r"curl_global_init|curl_global_cleanup|curl_easy_init|curl_multi_init|curl_multi_info_read|curl_slist_append")


def read(*words, **environment):
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment}).stdout


def compile_to(library, source, *options):
    command = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library, f"-Wl,-soname,{library.name}", *options]
    subprocess.run(command, check=True, input=source, text=True)


def without_network(library, user):
    """`library`, a libcurl, as far as `user` calls it."""
    found = re.findall(r" U (curl_\w+)(?:@(\w+))?", read("nm", "-D", user))
    versions = {version for _, version in found if version}
    script = library.with_suffix(".map")
    script.write_text("".join(f"{version} {{ global: curl_*; }};\n" for version in versions))
    calls = "".join(f"long {name}(void) {{ return {0 if ZERO.fullmatch(name) else 1}; }}\n" for name, _ in found)
    compile_to(library, calls, *([f"-Wl,--version-script={script}"] if versions else []))


def without_tables(library):
    """ICU's library of data with a table that is empty, as ICU's own tool makes it."""
    number = library.name.rpartition(".so.")[2]
    table = library.with_name(f"icudt{number}l.dat")
    read("icupkg", "-tl", "new", table)
    content = table.read_bytes()
    compile_to(library, f"const struct {{ double alignment; unsigned char bytes[{len(content)}]; }} icudt{number}_dat = "
                        f"{{0.0, {{{','.join(map(str, content))}}}}};\n")
