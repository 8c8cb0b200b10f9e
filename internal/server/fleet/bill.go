package fleet

import (
	"bytes"
	"encoding/hex"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/text"
)

// bill is a bill of materials of images that run at a time: CycloneDX 1.6, a component for each image. What is in the images it
// does not say.
func bill(images []rest.InventoryImage, at time.Time) ([]byte, error) {
	b := cyclonedx.NewBOM()
	b.Metadata = &cyclonedx.Metadata{
		Timestamp:  at.UTC().Format(time.RFC3339),
		Lifecycles: &[]cyclonedx.Lifecycle{{Phase: cyclonedx.LifecyclePhaseOperations}},
		Tools: &cyclonedx.ToolsChoice{Components: &[]cyclonedx.Component{{
			Type: cyclonedx.ComponentTypeApplication, Name: "kqueen",
		}}},
		Component: &cyclonedx.Component{BOMRef: "clusters", Type: cyclonedx.ComponentTypePlatform, Name: "clusters"},
	}
	components := make([]cyclonedx.Component, 0, len(images))
	refs := map[string]int{}
	for _, i := range images {
		c := component(i)
		// One digest can have several names, and a reference has to be there once.
		if refs[c.PackageURL]++; refs[c.PackageURL] > 1 {
			c.BOMRef += "#" + strconv.Itoa(refs[c.PackageURL])
		}
		components = append(components, c)
	}
	b.Components = &components
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

func component(i rest.InventoryImage) cyclonedx.Component {
	c := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeContainer, Name: text.Line(i.Repository), Version: text.Line(i.Tag), PackageURL: packageURL(i.InventoryImageName),
		Properties: &[]cyclonedx.Property{
			{Name: "kqueen:reference", Value: text.Line(i.Reference)},
			{Name: "kqueen:clusters", Value: number(i.Clusters)}, {Name: "kqueen:containers", Value: number(i.Containers)},
			{Name: "kqueen:firstSeenAt", Value: when(i.FirstSeenAt)},
		},
	}
	if c.Name == "" {
		c.Name = text.Line(i.Reference)
	}
	if c.Version == "" {
		c.Version = text.Line(i.Digest)
	}
	if value, ok := strings.CutPrefix(i.Digest, "sha256:"); ok {
		if decoded, err := hex.DecodeString(value); err == nil && len(decoded) == 32 {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: value}}
		}
	}
	c.BOMRef = c.PackageURL
	return c
}

// packageURL names an image as the package type oci has it: the last part of the repository, the digest, and where it is.
func packageURL(i rest.InventoryImageName) string {
	repository := i.Repository
	if repository == "" {
		repository = i.Reference
	}
	out := "pkg:oci/" + url.QueryEscape(strings.ToLower(path.Base(repository)))
	if i.Digest != "" {
		out += "@" + url.QueryEscape(i.Digest)
	}
	out += "?repository_url=" + strings.ReplaceAll(url.QueryEscape(strings.ToLower(repository)), "%2F", "/")
	if i.Tag != "" {
		out += "&tag=" + url.QueryEscape(i.Tag)
	}
	return out
}
