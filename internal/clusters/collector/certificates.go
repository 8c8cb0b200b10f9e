package collector

import (
	"crypto/x509"
	"encoding/pem"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// certificateOf returns what matters of a certificate, which the cluster chose.
func certificateOf(c *x509.Certificate) *inventory.Certificate {
	return &inventory.Certificate{
		Subject: listing.Clean(c.Subject.String(), maxMessage), Issuer: listing.Clean(c.Issuer.String(), maxMessage),
		DNSNames: cleanSet(c.DNSNames), NotAfter: c.NotAfter.UTC(),
	}
}

// secretItems returns the first certificate of a TLS Secret, the one that is served; none for what is not one.
func secretItems(s *secret) []inventory.Item {
	block, _ := pem.Decode(s.Data.Certificate)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return []inventory.Item{{Key: keyOf(&s.Meta, inventory.KindCertificate, "Secret"), Certificate: certificateOf(certificate)}}
}

// shownItems are the certificate that the API server shows, and that of the authority by which it is believed, where that is another one.
func shownItems(chain []*x509.Certificate) []inventory.Item {
	item := func(part string, c *x509.Certificate) inventory.Item {
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindCertificate, Name: apiServer, Part: part}, Certificate: certificateOf(c)}
	}
	items := []inventory.Item{item("apiserver", chain[0])}
	if len(chain) > 1 {
		items = append(items, item(inventory.PartAuthority, chain[len(chain)-1]))
	}
	return items
}
