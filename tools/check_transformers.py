#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_transformers.py CHECKPOINT [TEXT]: Hugging Face's transformers loads a checkpoint's folder as the Llama that it is.

Its greedy continuation of TEXT and its loss on it are printed; `samebits lm generate` and `lm eval --whole` give ours, which
agree to a tolerance (its arithmetic is another). Needs torch and transformers; not part of make test.
"""
import sys

import torch
import transformers


def main():
    folder, text = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "In the beginning God created the heaven and the earth.")
    model, report = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    missing = report["missing_keys"]
    other = [k for k in report["unexpected_keys"] if not k.startswith("optimizer.")]
    print(f"{type(model).__name__}, {sum(p.numel() for p in model.parameters())} parameters; missing {sorted(missing)}, unexpected {other}")
    ids = torch.tensor([list(text.encode())])
    length = model.config.max_position_embeddings
    with torch.no_grad():
        loss = model(ids[:, :length], labels=ids[:, :length]).loss.item()
        out = model.generate(ids[:, :20], max_new_tokens=20, do_sample=False, pad_token_id=0)[0, 20:]
    print(f"loss {loss:.6f} over {min(length, ids.shape[1]) - 1} bytes; continues {bytes(out.tolist())!r}")
    return 1 if missing or other else 0


if __name__ == "__main__":
    sys.exit(main())
