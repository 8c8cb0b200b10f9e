package pki

import "time"

// FirstEnd returns the authority of want that expires first in b, and when; no name where b has none that can be read.
func FirstEnd(b Bundle, want Set) (name string, end time.Time) {
	for _, a := range want.Authorities {
		cert, err := parseCertificate(b[a.Name+certSuffix])
		if err == nil && (name == "" || cert.NotAfter.Before(end)) {
			name, end = a.Name, cert.NotAfter
		}
	}
	return name, end
}
