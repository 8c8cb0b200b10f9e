package inventory

import (
	"fmt"
	"strings"
)

// statement collects the parameters of one.
type statement struct{ args []any }

// arg is the placeholder of a value.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	return fmt.Sprintf("$%d", len(s.args))
}

// in is a condition that a column has one of the values; none of them is no condition.
func in[T any](s *statement, column string, values []T) string {
	if len(values) == 0 {
		return "1=1"
	}
	return column + " IN (" + list(s, values) + ")"
}

// list is the placeholders of values.
func list[T any](s *statement, values []T) string {
	marks := make([]string, 0, len(values))
	for _, value := range values {
		marks = append(marks, s.arg(value))
	}
	return strings.Join(marks, ", ")
}

// tuple is the placeholders of one row of values.
func (s *statement) tuple(values ...any) string { return "(" + list(s, values) + ")" }

// numbersIn is a condition over numbers of ours, which stand in the text: there may be more than a statement has parameters.
func numbersIn(column string, values []int64) string {
	if len(values) == 0 {
		return "1=0"
	}
	return column + " IN (" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ", "), "[]") + ")"
}
