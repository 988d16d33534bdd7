// Package changes describes what became of an object, whatever its kind: the causes of
// informers' events (Added, Modified, Deleted), the fields that changed (Between, Fields)
// and who changed them, by managedFields (Managers). It is for every loop, and knows none.
// It may not show what a person may have put a secret into: the value of a field is told
// where its type says that it is a number, a switch, a quantity, an image or a word of the
// API's own, and anything else is named alone.
package changes
