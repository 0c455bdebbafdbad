"""One file per bar: what is compared, and the command of each side. Every file offers `BARS`.

These files are read to list the bars, so they import the standard library and `bench` only; what needs
torch or a peer lives in `bench/sides/`, whose programs run in fresh processes.
"""
