// Package describe writes the pages that `KIND describe` shows to users, and what the pages of several kinds have in
// common: conditions, events, parameters and tables of objects.
package describe
