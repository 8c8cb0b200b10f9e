package access

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Limits of what users write.
const (
	maxName        = 63
	maxDisplayName = 128 // characters
	maxEmail       = 254 // bytes; RFC 5321, section 4.5.3.1.3, without the angle brackets
)

var (
	// userName is that of local users. It has no colon, which is what names of others are told by.
	userName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`)
	// label is an RFC 1123 label, as organizations have.
	label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// checkUserName keeps away from what Kubernetes means by names: "system:…" and the like.
func checkUserName(name string) error {
	refuse := func(problem string) error {
		return invalid.Want("name", problem, fmt.Sprintf(
			"1 to %d lower-case letters, digits, '-', '.' and '_', with a letter or digit at both ends", maxName))
	}
	switch {
	case name == "":
		return refuse("it is empty")
	case len(name) > maxName:
		return refuse(fmt.Sprintf("it has %d characters", len(name)))
	case !userName.MatchString(name):
		return refuse("it has a character that names do not have")
	case strings.HasPrefix(name, "system"):
		return invalid.Want("name", `it begins with "system", which is for parts of Kubernetes`, "another one")
	}
	return nil
}

// checkLabel checks the names of organizations and service accounts.
func checkLabel(field, text string) error {
	if len(text) > maxName || !label.MatchString(text) {
		return invalid.Want(field, "it is not a name", fmt.Sprintf(
			"1 to %d lower-case letters, digits and '-', with a letter or digit at both ends", maxName))
	}
	return nil
}

// checkText accepts text that can be shown on one line. Empty is fine.
func checkText(field, text string, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case n > most:
		return invalid.Want(field, fmt.Sprintf("it has %d characters", n), fmt.Sprintf("%d at most", most))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable):
		return invalid.Want(field, "it has characters that cannot be printed", "one line of text")
	}
	return nil
}

// checkEmail takes what might be an address. Only a message to it shows that it is one.
func checkEmail(email string) error {
	if err := checkText("email", email, maxEmail); err != nil {
		return err
	}
	at := strings.LastIndexByte(email, '@')
	if email != "" && (at < 1 || at == len(email)-1 || strings.ContainsFunc(email, unicode.IsSpace)) {
		return invalid.Want("email", "it is no address", "NAME@DOMAIN")
	}
	return nil
}

// unprintable includes what turns the direction of text, by which one name is made to look like another.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
