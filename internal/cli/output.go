package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// outputFormats are the formats of list and get, as help and completion show them.
var outputFormats = []string{"table", "wide", "json", "yaml", "name", "jsonpath=", "go-template="}

// output prints objects in one format.
type output struct {
	to io.Writer
	// machine prints one object; nil for tables.
	machine printers.ResourcePrinter
	// separate says that several objects are printed one by one and not as a list.
	separate bool
	noun     *noun
	// place is the first column of tables: where the object lives; nil for none.
	place *column
	rows  printers.ResourcePrinter
	cells io.Writer
	flush func() error
}

// outputOptions say how to print.
type outputOptions struct {
	format    string
	noHeaders bool
	// everywhere says that the objects come from all organizations.
	everywhere bool
}

// newOutput returns what prints objects of a noun.
func newOutput(to io.Writer, n *noun, options outputOptions) (*output, error) {
	out := &output{to: to, noun: n}
	if options.format == "" || options.format == "table" || options.format == "wide" {
		writer := printers.GetNewTabWriter(to)
		out.cells, out.flush = writer, writer.Flush
		out.rows = printers.NewTablePrinter(printers.PrintOptions{Wide: options.format == "wide", NoHeaders: options.noHeaders})
		out.place = placeColumn(n, options.everywhere)
		return out, nil
	}
	machine, err := newMachinePrinter(options.format)
	if err != nil {
		return nil, err
	}
	out.machine = &printers.OmitManagedFieldsPrinter{Delegate: machine}
	out.separate = options.format == "name"
	return out, nil
}

// newMachinePrinter returns the printer for a format that programs read.
func newMachinePrinter(format string) (printers.ResourcePrinter, error) {
	name, template, _ := strings.Cut(format, "=")
	switch name {
	case "json":
		return &printers.JSONPrinter{}, nil
	case "yaml":
		return &printers.YAMLPrinter{}, nil
	case "name":
		return &printers.NamePrinter{}, nil
	case "jsonpath":
		// As in kubectl, {.metadata.name} may be written .metadata.name.
		if !strings.Contains(template, "{") {
			template = "{" + template + "}"
		}
		printer, err := printers.NewJSONPathPrinter(template)
		if err != nil {
			return nil, fail(codeUsage, "--output: read jsonpath %q: %w", template, err)
		}
		printer.AllowMissingKeys(true)
		return printer, nil
	case "go-template":
		printer, err := printers.NewGoTemplatePrinter([]byte(template))
		if err != nil {
			return nil, fail(codeUsage, "--output: read template %q: %w", template, err)
		}
		return printer, nil
	}
	return nil, fail(codeUsage, "--output: %q is no format; choose one of %s", format, strings.Join(outputFormats, ", "))
}

// placeColumn returns the column that says where an object lives, or nil where that goes without saying.
func placeColumn(n *noun, everywhere bool) *column {
	switch {
	case n.scope == shared:
		return &column{name: "Namespace", value: client.Object.GetNamespace}
	case n.scope == organization && everywhere:
		return &column{name: "Organization", value: func(o client.Object) string {
			return strings.TrimPrefix(o.GetNamespace(), v1alpha1.NamespacePrefix)
		}}
	}
	return nil
}

// print prints objects. One that was asked for alone is printed as itself in the formats for programs,
// others as a list that can be applied.
func (o *output) print(objects []client.Object, alone bool) error {
	if o.machine == nil {
		return o.printTable(objects)
	}
	if !alone && !o.separate {
		return o.machine.PrintObj(listOf(objects), o.to)
	}
	for _, object := range objects {
		if err := o.machine.PrintObj(object, o.to); err != nil {
			return err
		}
	}
	return nil
}

// listOf returns objects as one document that can be applied.
func listOf(objects []client.Object) *corev1.List {
	list := &corev1.List{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"},
		Items:    make([]runtime.RawExtension, 0, len(objects)),
	}
	for _, object := range objects {
		object.SetManagedFields(nil)
		list.Items = append(list.Items, runtime.RawExtension{Object: object})
	}
	return list
}

// printTable prints rows; the header comes with the first ones.
func (o *output) printTable(objects []client.Object) error {
	columns := o.columns()
	table := &metav1.Table{}
	for _, c := range columns {
		definition := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			definition.Priority = 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, definition)
	}
	for _, object := range objects {
		var cells []any
		for _, c := range columns {
			value := cleanLine(c.value(object))
			if value == "" {
				value = "-"
			}
			cells = append(cells, value)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	if err := o.rows.PrintObj(table, o.cells); err != nil {
		return err
	}
	return o.flush()
}

func (o *output) columns() []column {
	var columns []column
	if o.place != nil {
		columns = append(columns, *o.place)
	}
	if !o.noun.unnamed {
		columns = append(columns, column{name: "Name", value: client.Object.GetName})
	}
	return append(columns, o.noun.columns...)
}

// registerOutput adds the flag -o with the completion of its values.
func registerOutput(cmd *cobra.Command, format *string, initial string, formats []string) {
	usage := "format: " + strings.Join(formats, ", ")
	cmd.Flags().StringVarP(format, "output", "o", initial, usage)
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(formats, func(f string) bool { return strings.HasSuffix(f, "=") }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return formats, directive
	}
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", complete)
}
