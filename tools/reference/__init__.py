"""The reference pages of the public interface, made from the protos and the guide's tables."""
