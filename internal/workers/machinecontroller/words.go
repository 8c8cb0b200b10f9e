package machinecontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// longestWords bounds, in bytes, what of a cluster's words stands in a condition.
	longestWords = 400
	// longestName bounds what of a foreign name is repeated.
	longestName = 80
)

// tidy makes the words of a cluster fit for a condition: one line, bounded, and the same from look to look.
// How long something has lasted changes with every look and would be written each time.
func tidy(words string, longest int) string {
	fields := strings.FieldsFunc(text.Cut(words, 4*longest), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	for i, f := range fields {
		bare := strings.Trim(f, ".,;:()[]\"'")
		if _, err := time.ParseDuration(bare); err == nil && bare != "0" {
			fields[i] = strings.Replace(f, bare, "some time", 1)
		}
		if _, err := time.Parse(time.RFC3339, bare); err == nil {
			fields[i] = strings.Replace(f, bare, "some time", 1)
		}
	}
	return text.Cut(strings.ToValidUTF8(strings.Join(fields, " "), "?"), longest)
}

// unreachable says why a cluster could not be looked at, in words that stay the same from try to try.
func unreachable(cluster *v1alpha1.Cluster, err error) error {
	why := "the connection failed"
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "nothing listens at its address"
	case errors.As(err, &status):
		why = "it answers: " + tidy(status.Status().Message, longestWords)
	}
	return fmt.Errorf("the API server of cluster %s cannot be asked: %s", cluster.Name, why)
}
