"""How the embedded model is made: dialogues, tokenizer, initialisation, training. Run as a module.

Nothing here is used when the model is served or trained further.
"""
