"""A Packages file of sixty packages that nobody has written, in the forms that Debian's have."""

SUBJECTS = ["chess", "gene", "image", "mail", "font"]
KINDS = {
    "": ("{s} program for the desktop", "x11", "libgtk-3-0, lib{s}0 (>= 1.2)", "role::program, interface::x11"),
    "-cli": ("{s} tool for the command line", "utils", "libc6, lib{s}0:any", "role::program, interface::commandline"),
    "-data": ("data files of {s}", "misc", "", "role::app-data"),
    "-doc": ("documentation of {s}", "doc", "libjs-jquery [amd64]", "role::documentation, made-of::{{html,man}}"),
    "-dev": (
        "headers for development with {s}",
        "libdevel",
        "lib{s}0 | lib{s}1",
        "role::devel-lib,\n devel::{{lang:c, lang:c++}}",
    ),
    "-dbg": ("debugging symbols of {s}", "debug", "lib{s}0 (= ${{binary:Version}})", "role::debug-symbols"),
}


def packages() -> str:
    """Give the text: each subject twice in six kinds; one of five packages has no tags."""
    paragraphs = []
    for name in (f"{prefix}{subject}" for subject in SUBJECTS for prefix in ("", "open")):
        for kind, (title, section, depends, tags) in KINDS.items():
            fields = {
                "Package": f"{name}{kind}",
                "Version": "1.0-1",
                "Depends": depends.format(s=name),
                "Description": f"{title.format(s=name)}\n A longer text: of two lines.",
                "Tag": tags.format() if len(paragraphs) % 5 else "",
                "Section": section,
            }
            paragraphs.append("".join(f"{field}: {value}\n" for field, value in fields.items() if value))
    return "\n".join(paragraphs)
