// Package rollout is the arithmetic of a rolling update: surge,
// unavailable, sizes and budgets, in int64. It knows no Snapshot and no API
// object, and may import nothing but the standard library.
package rollout
