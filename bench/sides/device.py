"""Says the name of the CUDA device, "" where there is none."""

import json

import torch

print(json.dumps({"name": torch.cuda.get_device_name() if torch.cuda.is_available() else ""}))
