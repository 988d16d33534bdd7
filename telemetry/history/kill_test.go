package history

// child is a process of its own in the kill test.
func child() bool { return false }
