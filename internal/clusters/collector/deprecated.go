package collector

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// deprecatedMetric is 1 for each deprecated API that callers of the API server have asked for since it started.
const deprecatedMetric = "apiserver_requested_deprecated_apis"

// Of the metrics, which are several megabytes, only those lines are parsed.
const (
	maxMetricsLine = 4 << 10
	maxDeprecated  = 256
)

// deprecatedAPIs reads which deprecated APIs were used from the metrics of an API server. The caller bounds what is read.
func deprecatedAPIs(metrics io.Reader) ([]inventory.Item, error) {
	var wanted bytes.Buffer
	lines, found := bufio.NewScanner(metrics), 0
	lines.Buffer(make([]byte, 0, maxMetricsLine), 1<<20)
	for lines.Scan() && found < maxDeprecated {
		if bytes.HasPrefix(lines.Bytes(), []byte(deprecatedMetric+"{")) && len(lines.Bytes()) <= maxMetricsLine {
			found++
			wanted.Write(lines.Bytes())
			wanted.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&wanted)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	var out []inventory.Item
	for _, metric := range families[deprecatedMetric].GetMetric() {
		if item, used := deprecatedAPI(metric); used {
			out = append(out, item)
		}
	}
	slices.SortFunc(out, func(a, b inventory.Item) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	return slices.CompactFunc(out, func(a, b inventory.Item) bool { return a.Key == b.Key }), nil
}

func deprecatedAPI(metric *dto.Metric) (inventory.Item, bool) {
	labels := map[string]string{}
	for _, l := range metric.GetLabel() {
		labels[l.GetName()] = listing.Clean(l.GetValue(), maxWord)
	}
	// A line without a type is untyped.
	used := metric.GetUntyped().GetValue() > 0 || metric.GetGauge().GetValue() > 0
	name := cmp.Or(labels["group"], "core") + "/" + labels["version"] + "/" + labels["resource"]
	return inventory.Item{Key: inventory.Key{Kind: inventory.KindAPI, Name: name}, API: &inventory.API{RemovedIn: labels["removed_release"]}},
		used && labels["version"] != "" && labels["resource"] != ""
}
