# SPDX-License-Identifier: BSD-3-Clause
"""The recipes in packaging/ for Spack, EasyBuild and conda can be read, and name the version of CMakeLists.txt and libraries
that debian/control names; Spack's finds the version of an installed Tutti. What they call is stood in for, since none of
these tools is here.
usage: recipes.py SOURCE VERSION TUTTI"""
import pathlib
import re
import subprocess
import sys
import types

LIBRARIES = {"ucx", "pmix", "hwloc", "libevent", "yaml-cpp", "fmt", "elfutils"}


def fail(text):
    sys.exit("wrong: " + text)


def same(of, names):
    names = {name.lower().removeprefix("lib") for name in names}
    wanted = {name.removeprefix("lib") for name in LIBRARIES}
    if names != wanted:
        fail(f"{of} names the libraries {sorted(names)}, and not {sorted(wanted)}")


class Executable:
    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments, output=None, error=None):
        return subprocess.run([self.path, *arguments], capture_output=True, text=True, check=True).stdout


def spack(folder, version, tutti):
    """Directives are functions that Spack calls while it reads the class: here they note what they are given."""
    said = []
    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "provides", "depends_on", "conflicts", "generator"):
        setattr(package, name, lambda *words, _name=name, **more: said.append((_name, words, more)))
    package.CMakePackage, package.Executable = type("CMakePackage", (), {}), Executable
    package.join_path = lambda *parts: "/".join(map(str, parts))
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), package
    names = {}
    exec(compile((folder / "package.py").read_text(), "package.py", "exec"), names)  # it is of this checkout
    recipe = names["Tutti"]
    if not any(name == "version" and words[0] == version for name, words, _ in said):
        fail(f"Spack's recipe has no version {version}")
    same("Spack's recipe", [words[0].split("@")[0] for name, words, more in said if name == "depends_on" and not more])
    if ("provides", ("mpi@:5.0",), {}) not in said:
        fail("Spack's recipe provides no mpi")
    if not any(re.search(pattern, pathlib.Path(tutti).name) for pattern in recipe.executables):
        fail(f"spack external find would not look at {tutti}")
    found = recipe.determine_version(tutti)
    if found != version:
        fail(f"spack external find would take {tutti} for version {found}")
    if recipe.determine_version("/bin/echo") is not None:
        fail("spack external find would take anything for Tutti")


def easybuild(folder, version):
    file, = folder.glob("*.eb")
    names = {"SOURCELOWER_TAR_GZ": "tutti.tar.gz"}
    exec(compile(file.read_text(), file.name, "exec"), names)
    for name in ("easyblock", "name", "version", "homepage", "description", "toolchain", "sources", "moduleclass"):
        if name not in names:
            fail(f"{file.name} does not say {name}")
    if names["version"] != version or file.name != f"tutti-{version}-{names['toolchain']['name']}-{names['toolchain']['version']}.eb":
        fail(f"{file.name} is for version {names['version']}, and CMakeLists.txt has {version}")
    same(file.name, [name for name, _ in names["dependencies"]])


def conda(folder, version):
    text = (folder / "meta.yaml").read_text()
    if f'version: "{version}"' not in text:
        fail(f"conda's recipe is not for version {version}")
    host = re.search(r"\n  host:\n((?:    - .*\n)+)", text)
    same("conda's recipe", re.findall(r"- (\S+)", host[1]))
    subprocess.run(["bash", "-n", folder / "build.sh"], check=True)
    try:
        import yaml
    except ImportError:
        print("without a reader of YAML: the form of conda's recipe was not looked at")
        return
    read = yaml.safe_load(text)
    if read["package"]["name"] != "tutti" or not read["test"]["commands"]:
        fail("conda's recipe lacks its parts")


def main():
    packaging, version, tutti = pathlib.Path(sys.argv[1]) / "packaging", sys.argv[2], sys.argv[3]
    spack(packaging / "spack", version, tutti)
    easybuild(packaging / "easybuild", version)
    conda(packaging / "conda", version)


main()
