package password

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a new password, in characters. NIST SP 800-63B-4, section 3.1.1.2, asks for length and against rules of
// composition; it wants 15 where nothing else proves the user, and 8 beside a second proof.
const (
	MinLength = 12
	MaxLength = 128
)

// maxBytes bounds what is hashed when a user signs in. No password that the rule takes is longer.
const maxBytes = MaxLength * utf8.UTFMax

// TooLong says that no account can have this password, so that it need not be hashed.
func TooLong(password string) bool { return len(password) > maxBytes }

// Rule returns what is wrong with a new password, in words that follow "the password"; empty when nothing is. known are
// words that are known about its owner: the name, the e-mail address.
func Rule(password string, known ...string) string {
	if !utf8.ValidString(password) {
		return "is not UTF-8 text; want letters, digits, signs or spaces"
	}
	if n := utf8.RuneCountInString(password); n < MinLength || n > MaxLength {
		return fmt.Sprintf("has %d characters; want %d to %d", n, MinLength, MaxLength)
	}
	if strings.ContainsFunc(password, unicode.IsControl) {
		return "has a control character; want letters, digits, signs or spaces"
	}
	bare := simplify(password)
	if distinct(bare) < 4 {
		return "repeats a few characters; want at least 4 different letters or digits"
	}
	for _, word := range known {
		if word = simplify(word); len(word) >= 3 && consists(bare, word) {
			return "is the name or the e-mail address of its owner; want something that others do not know"
		}
	}
	for _, word := range commonest {
		if consists(bare, word) {
			return "is one of the commonest, which are guessed first; want something of your own"
		}
	}
	return ""
}

// consists says that text is nothing but word, once or more, and digits.
func consists(text, word string) bool {
	rest := strings.ReplaceAll(text, word, "")
	return rest != text && strings.TrimFunc(rest, unicode.IsDigit) == ""
}

// simplify makes lower case and leaves letters and digits alone.
func simplify(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, fold(text))
}

func distinct(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		seen[r] = true
	}
	return len(seen)
}

// commonest are words that long passwords are made of most often: alone, repeated, or with digits around them.
var commonest = []string{
	"password", "passw0rd", "passwort", "kennwort", "heslo", "qwertyuiop", "qwertzuiop", "qwerty", "qwertz", "azerty",
	"asdfghjkl", "zxcvbnm", "1qaz2wsx3edc", "1q2w3e4r5t6y", "qazwsxedc", "abcdefghijkl", "abcdefghijklm", "abcdefgh",
	"123456789012", "1234567890", "0987654321", "0123456789ab", "letmein", "welcome", "iloveyou", "administrator",
	"admin", "root", "changeme", "changeit", "default", "secret", "topsecret", "superuser", "superman", "football",
	"baseball", "princess", "sunshine", "monkey", "dragon", "master", "trustno1", "whatever", "computer", "internet",
	"kubernetes", "kqueen", "kubectl", "cluster", "docker", "openstack", "correcthorsebatterystaple", "guest", "test",
	"opensesame", "passwordpassword", "adminadmin", "qwerty123456", "welcometo", "mypassword", "newpassword",
}
