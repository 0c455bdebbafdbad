"""A side of a bar that prints what it is told: a Python expression, as JSON, after a line of chatter."""

import json
import sys

print("Loading …")
print(json.dumps(eval(sys.argv[1])))
