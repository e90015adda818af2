"""Parts of an object that are written on their own and are of another kind than the object."""
