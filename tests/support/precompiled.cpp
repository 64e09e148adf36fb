// A target needs a source: this one exists for the header that the tests share.
