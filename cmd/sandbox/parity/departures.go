package parity

// departures are the differences that follow from the register in
// controllers/DESIGN.md, as narrow as they can be said.
var departures = []departure{}
