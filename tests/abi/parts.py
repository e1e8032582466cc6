# SPDX-License-Identifier: BSD-3-Clause
"""The list of parts (share/tutti/tutti.spdx) is one that SPDX 2.3 allows, and names each library that Tutti's programs
load, with a version and a licence.
usage: parts.py LIST PROGRAM..."""
import re
import subprocess
import sys

DOCUMENT = ["SPDXVersion", "DataLicense", "SPDXID", "DocumentName", "DocumentNamespace", "Creator", "Created"]
PACKAGE = ["PackageName", "SPDXID", "PackageVersion", "PackageDownloadLocation", "FilesAnalyzed", "PackageLicenseConcluded",
           "PackageLicenseDeclared", "PackageCopyrightText"]
# The C library, which each program on the system has.
SYSTEM = r"lib(c|m|dl|rt|pthread)\.so|ld-linux"


def fail(text):
    sys.exit("wrong: " + text)


def sections(text):
    """The document, and each package: fields by their names, a name having several values."""
    out = []
    for block in text.strip().split("\n\n"):
        fields = {}
        for line in block.split("\n"):
            name, colon, value = line.partition(": ")
            if not colon or not value.strip():
                fail(f"a line that is no field: {line!r}")
            fields.setdefault(name, []).append(value)
        out.append(fields)
    return out[0], out[1:]


def needed(program):
    said = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said)


def main():
    document, packages = sections(open(sys.argv[1], encoding="utf-8").read())
    for fields, wanted in [(document, DOCUMENT)] + [(p, PACKAGE) for p in packages]:
        for name in wanted:
            if len(fields.get(name, [])) != 1:
                fail(f"{fields.get('PackageName', ['the document'])[0]} has no {name}, or several")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["Created"][0]):
        fail(f"no time: {document['Created'][0]}")
    known = [fields["SPDXID"][0] for fields in [document] + packages]
    if len(set(known)) != len(known) or any(not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in known):
        fail(f"identifiers: {known}")
    for fields in [document] + packages:
        for relation in fields.get("Relationship", []):
            a, _, b = relation.split(" ")
            if a not in known or b not in known:
                fail(f"a relation to something that is not in the list: {relation}")
    for package in packages:
        if not re.match(r"\d", package["PackageVersion"][0]):
            fail(f"{package['PackageName'][0]} has no version")
    listed = " ".join(package["PackageComment"][0] for package in packages)
    listed = re.sub(r"</?text>", " ", listed).split()
    for program in sys.argv[2:]:
        for library in needed(program):
            if not re.match(SYSTEM, library) and re.sub(r"(-[\d.]+)?\.so.*", "", library) not in listed:
                fail(f"{program} loads {library}, which is not in the list")


main()
