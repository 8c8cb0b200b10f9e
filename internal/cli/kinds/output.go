package kinds

import (
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// OutputFormats are the formats of list and get, as help and completion show them.
var OutputFormats = []string{"table", "wide", "json", "yaml", "name", "jsonpath=", "go-template=", "custom-columns="}

// Output prints objects in one format.
type Output struct {
	to io.Writer
	// machine prints one object; nil for tables.
	machine printers.ResourcePrinter
	// separate says that several objects are printed one by one and not as a list.
	separate bool
	Kind     *Kind
	// place is the first column of tables: where the object lives; nil for none.
	place *Column
	rows  printers.ResourcePrinter
	// custom are the columns that the user wants; nil for those of the kind.
	custom *customColumns
	cells  io.Writer
	flush  func() error
}

// OutputOptions say how to print.
type OutputOptions struct {
	Format    string
	NoHeaders bool
	// Everywhere says that the objects come from all organizations.
	Everywhere bool
}

// NewOutput returns what prints objects of a kind.
func NewOutput(to io.Writer, n *Kind, options OutputOptions) (*Output, error) {
	out := &Output{to: to, Kind: n}
	if options.Format == "" || options.Format == "table" || options.Format == "wide" {
		writer := printers.GetNewTabWriter(to)
		out.cells, out.flush = writer, writer.Flush
		out.rows = printers.NewTablePrinter(printers.PrintOptions{Wide: options.Format == "wide", NoHeaders: options.NoHeaders})
		out.place = placeColumn(n, options.Everywhere)
		return out, nil
	}
	if columns, ok := strings.CutPrefix(options.Format, "custom-columns="); ok {
		custom, err := parseColumns(columns)
		if err != nil {
			return nil, exit.Fail(exit.Usage, "--output: custom-columns: %w", err)
		}
		custom.headed = options.NoHeaders
		out.custom = custom
		return out, nil
	}
	machine, err := newMachinePrinter(options.Format)
	if err != nil {
		return nil, err
	}
	out.machine = &printers.OmitManagedFieldsPrinter{Delegate: machine}
	out.separate = options.Format == "name"
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
			return nil, exit.Fail(exit.Usage, "--output: read jsonpath %q: %w", template, err)
		}
		printer.AllowMissingKeys(true)
		return printer, nil
	case "go-template":
		printer, err := printers.NewGoTemplatePrinter([]byte(template))
		if err != nil {
			return nil, exit.Fail(exit.Usage, "--output: read template %q: %w", template, err)
		}
		return printer, nil
	}
	return nil, exit.Fail(exit.Usage, "--output: %q is not a format; choose one of %s", format, strings.Join(OutputFormats, ", "))
}

// placeColumn returns the column that says where an object lives, or nil where that goes without saying.
func placeColumn(n *Kind, everywhere bool) *Column {
	switch {
	case n.Scope() == rest.ScopeShared:
		return &Column{Name: "Namespace", Value: client.Object.GetNamespace}
	case n.Scope() == rest.ScopeOrganization && everywhere:
		return &Column{Name: "Organization", Value: func(o client.Object) string {
			organization, _ := v1alpha1.OrganizationOf(o.GetNamespace())
			return organization
		}}
	}
	return nil
}

// Print prints objects. One that was asked for alone is printed as itself in the formats for programs,
// others as a list that can be applied.
func (o *Output) Print(objects []client.Object, alone bool) error {
	if o.custom != nil {
		return o.custom.print(objects, o.to)
	}
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
func (o *Output) printTable(objects []client.Object) error {
	columns := o.Columns()
	table := &metav1.Table{}
	for _, c := range columns {
		definition := metav1.TableColumnDefinition{Name: c.Name, Type: "string"}
		if c.Wide {
			definition.Priority = 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, definition)
	}
	for _, object := range objects {
		var cells []any
		for _, c := range columns {
			value := console.CleanLine(c.Value(object))
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

// Columns are those of a table, the wide ones among them.
func (o *Output) Columns() []Column {
	var columns []Column
	if o.place != nil {
		columns = append(columns, *o.place)
	}
	if !o.Kind.unnamed {
		columns = append(columns, Column{Name: "Name", Value: client.Object.GetName})
	}
	return append(columns, o.Kind.columns...)
}
