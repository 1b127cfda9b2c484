"""Who is asked: providers of models, each speaking one protocol; scripted and recorded ones among them."""
