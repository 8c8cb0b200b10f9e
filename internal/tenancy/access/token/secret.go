package token

import "log/slog"

// Secret is a text that is shown once, to whom it is for. Printed, logged or encoded by mistake it is not told.
type Secret string

const hidden = "(secret)"

// Reveal is the text itself.
func (s Secret) Reveal() string { return string(s) }

// String hides it from %v and %s.
func (Secret) String() string { return hidden }

// GoString hides it from %#v.
func (Secret) GoString() string { return hidden }

// LogValue hides it from log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides it from encoders, of JSON among others.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
