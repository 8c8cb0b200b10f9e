package cis

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// value is what a program was told by a flag; false when it was told nothing.
func (f Found) value(program, flag string) (string, bool) {
	for _, arg := range slices.Backward(f.Programs[program].Args) {
		name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != flag || !strings.HasPrefix(arg, "--") {
			continue
		}
		if !has {
			value = "true"
		}
		return value, true
	}
	return "", false
}

// check is one look.
type check = func(Found) error

// all are checks of which every one has to hold.
func all(checks ...check) check {
	return func(f Found) error {
		for _, c := range checks {
			if err := c(f); err != nil {
				return err
			}
		}
		return nil
	}
}

// set wants flags to have values.
func set(program string, flags ...string) check {
	return func(f Found) error {
		for _, flag := range flags {
			if value, _ := f.value(program, flag); value == "" {
				return fmt.Errorf("%s has no --%s", program, flag)
			}
		}
		return nil
	}
}

// unset wants a flag not to be there.
func unset(program, flag string) check {
	return func(f Found) error {
		if value, there := f.value(program, flag); there {
			return fmt.Errorf("%s has --%s=%s", program, flag, value)
		}
		return nil
	}
}

// is wants a flag to have one of several values.
func is(program, flag string, values ...string) check {
	return func(f Found) error {
		if value, _ := f.value(program, flag); !slices.Contains(values, value) {
			return fmt.Errorf("%s has --%s=%s, want %s", program, flag, value, strings.Join(values, " or "))
		}
		return nil
	}
}

// atLeast wants a flag of the API server to have a number that is large enough.
func atLeast(flag string, least int) check {
	return func(f Found) error {
		value, _ := f.value(apiServer, flag)
		if n, err := strconv.Atoi(value); err != nil || n < least {
			return fmt.Errorf("%s has --%s=%s, want %d or more", apiServer, flag, value, least)
		}
		return nil
	}
}

// not wants a flag not to have a value, which it does not have by itself.
func not(program, flag, value string) check {
	return func(f Found) error {
		if have, _ := f.value(program, flag); have == value {
			return fmt.Errorf("%s has --%s=%s", program, flag, value)
		}
		return nil
	}
}

// has wants a list to have an entry.
func has(program, flag, entry string) check {
	return func(f Found) error {
		value, _ := f.value(program, flag)
		if !slices.Contains(strings.Split(value, ","), entry) {
			return fmt.Errorf("%s of %s is %q, without %s", flag, program, value, entry)
		}
		return nil
	}
}

// lacks wants a list not to have an entry.
func lacks(program, flag, entry string) check {
	return func(f Found) error {
		if has(program, flag, entry)(f) == nil {
			return fmt.Errorf("%s of %s has %s", flag, program, entry)
		}
		return nil
	}
}

// file is the one that a flag names.
func (f Found) file(program, flag string) (File, error) {
	path, _ := f.value(program, flag)
	found, there := f.Files[path]
	if !there {
		return File{}, fmt.Errorf("the file %q of --%s of %s is not among those that were looked at", path, flag, program)
	}
	return found, nil
}

// private wants the file of a flag to be closed to all but its owner.
func private(program, flag string) check {
	return func(f Found) error {
		found, err := f.file(program, flag)
		if err != nil {
			return err
		}
		return f.closed(flag, found)
	}
}

// closed says whether a file is closed to all but its owner and the group of one of the programs, which may read it. Such a
// group is the program's own when it has the number of its user.
func (f Found) closed(what string, file File) error {
	open := file.Mode.Perm() & 0o077
	for _, p := range f.Programs {
		if alone := p.Group == p.User; alone && file.Group == p.Group {
			open &^= 0o050
		}
	}
	if open != 0 {
		return fmt.Errorf("%s has the mode %s", what, file.Mode.Perm())
	}
	return nil
}

// owned wants the file of a flag to belong to root or to the user as which the program runs.
func owned(program, flag string) check {
	return func(f Found) error {
		found, err := f.file(program, flag)
		if err != nil {
			return err
		}
		return f.ours(flag, found)
	}
}

// ours says whether a file belongs to root or to a user as which one of the programs runs.
func (f Found) ours(what string, file File) error {
	if file.Owner == 0 {
		return nil
	}
	for _, p := range f.Programs {
		if p.User == file.Owner {
			return nil
		}
	}
	return fmt.Errorf("%s belongs to the user %d, as which none of the programs runs", what, file.Owner)
}

// every wants something of all regular files whose names have a suffix; at least one of them has to be there.
func every(suffix string, want func(Found, string, File) error) check {
	return func(f Found) error {
		looked := 0
		for path, file := range f.Files {
			if !file.Mode.IsRegular() || !strings.HasSuffix(filepath.Base(path), suffix) {
				continue
			}
			looked++
			if err := want(f, path, file); err != nil {
				return err
			}
		}
		if looked == 0 {
			return fmt.Errorf("no file ends with %s", suffix)
		}
		return nil
	}
}

func everyClosed(suffix string) check {
	return every(suffix, func(f Found, path string, file File) error { return f.closed(path, file) })
}

func everyOurs(suffix string) check {
	return every(suffix, func(f Found, path string, file File) error { return f.ours(path, file) })
}
