package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Types whose JSON form is not that of their Go fields.
var special = map[reflect.Type]string{
	reflect.TypeOf(apiextensionsv1.JSON{}):                         "JSON",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrArray{}):       "SchemaOrArray",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrBool{}):        "SchemaOrBool",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrStringArray{}): "SchemaOrStringArray",
	reflect.TypeOf(intstr.IntOrString{}):                           "IntOrString",
	reflect.TypeOf(metav1.FieldsV1{}):                              "FieldsV1",
	reflect.TypeOf(metav1.MicroTime{}):                             "MicroTime",
	reflect.TypeOf(metav1.Time{}):                                  "Time",
	reflect.TypeOf(resource.Quantity{}):                            "Quantity",
	reflect.TypeOf(runtime.RawExtension{}):                         "RawExtension",
}

type table struct {
	definitions map[string]common.OpenAPIDefinition
	packages    map[string]*goPackage
	seen        map[reflect.Type]bool
	problems    []string
}

// A Go package and the lines for its types.
type goPackage struct {
	path    string
	aliases map[string]string
	types   map[string]string
}

func newTable(definitions map[string]common.OpenAPIDefinition) *table {
	return &table{
		definitions: definitions,
		packages:    map[string]*goPackage{},
		seen:        map[reflect.Type]bool{},
	}
}

func (t *table) problem(format string, values ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, values...))
}

// add describes a struct and everything reachable from it.
func (t *table) add(goType reflect.Type) {
	if t.seen[goType] {
		return
	}
	t.seen[goType] = true
	definition, ok := t.definitions[goType.PkgPath()+"."+goType.Name()]
	if !ok && isServed(goType) {
		t.problem("%s: no OpenAPI definition", goType)
	}
	var lines strings.Builder
	lines.WriteString("type " + goType.Name())
	if mapType, _ := definition.Schema.Extensions.GetString("x-kubernetes-map-type"); mapType == "atomic" {
		lines.WriteString(" atomic")
	}
	lines.WriteString("\n")
	for i := 0; i < goType.NumField(); i++ {
		t.field(&lines, goType, goType.Field(i), definition.Schema)
	}
	t.inPackage(goType).types[goType.Name()] = lines.String()
}

func (t *table) inPackage(goType reflect.Type) *goPackage {
	path := goType.PkgPath()
	if t.packages[path] == nil {
		t.packages[path] = &goPackage{path: path, aliases: map[string]string{}, types: map[string]string{}}
	}
	return t.packages[path]
}

func (t *table) field(lines *strings.Builder, owner reflect.Type, field reflect.StructField, schema spec.Schema) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	tag := protobufTag(field)
	if name == "" && field.Anonymous {
		if field.Type.Kind() != reflect.Struct {
			t.problem("%s.%s: inline %s", owner, field.Name, field.Type)
		}
		fmt.Fprintf(lines, "%s ~ %s\n", tag, t.expression(field.Type, owner, nil))
		return
	}
	if name == "" || name == "-" {
		t.problem("%s.%s: JSON name %q", owner, field.Name, name)
		return
	}
	property, ok := schema.Properties[name]
	if !ok && isServed(owner) {
		t.problem("%s.%s: not in OpenAPI", owner, name)
	}
	fmt.Fprintf(lines, "%s %s %s", tag, name, t.expression(field.Type, owner, enumOf(property)))
	if !strings.Contains(options, "omitempty") {
		lines.WriteString(" always")
	}
	if strings.Contains(options, "omitzero") {
		lines.WriteString(" omitzero")
	}
	for _, required := range schema.Required {
		if required == name {
			lines.WriteString(" required")
		}
	}
	t.attributes(lines, owner, name, property)
	isImplied := field.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omitempty")
	t.defaultValue(lines, owner, name, property.Default, isImplied)
	lines.WriteString("\n")
}

func (t *table) attributes(lines *strings.Builder, owner reflect.Type, name string, property spec.Schema) {
	extensions := property.Extensions
	if list, ok := extensions.GetString("x-kubernetes-list-type"); ok {
		fmt.Fprintf(lines, " list=%s", list)
		if keys, ok := extensions["x-kubernetes-list-map-keys"]; ok {
			fmt.Fprintf(lines, ":%s", joined(keys, ","))
		}
	}
	if mapType, ok := extensions.GetString("x-kubernetes-map-type"); ok {
		fmt.Fprintf(lines, " map=%s", mapType)
	}
	if strategy, ok := extensions.GetString("x-kubernetes-patch-strategy"); ok {
		fmt.Fprintf(lines, " patch=%s", strategy)
		if key, ok := extensions.GetString("x-kubernetes-patch-merge-key"); ok {
			fmt.Fprintf(lines, ":%s", key)
		}
	}
}

// defaultValue writes a default, but no zero that follows from how the field is written.
func (t *table) defaultValue(lines *strings.Builder, owner reflect.Type, name string, value any, isImplied bool) {
	if value == nil || isEmptyMap(value) || isImplied && reflect.ValueOf(value).IsZero() {
		return
	}
	text, err := json.Marshal(value)
	if err != nil || strings.Contains(string(text), " ") {
		t.problem("%s.%s: default %v", owner, name, value)
	}
	fmt.Fprintf(lines, " default=%s", text)
}

// expression names a type as the table does, describing named types on the way.
func (t *table) expression(goType reflect.Type, from reflect.Type, enum []any) string {
	if name, ok := special[goType]; ok {
		return name
	}
	switch {
	case goType.Kind() == reflect.Pointer:
		return "*" + t.expression(goType.Elem(), from, enum)
	case goType.Kind() == reflect.Struct:
		t.add(goType)
		return t.reference(goType, from)
	case goType.PkgPath() != "":
		t.alias(goType, enum)
		return t.reference(goType, from)
	}
	return t.unnamed(goType, from, enum)
}

// unnamed is the type behind a Go name: a scalar, a list or a map.
func (t *table) unnamed(goType reflect.Type, from reflect.Type, enum []any) string {
	switch goType.Kind() {
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + t.expression(goType.Elem(), from, enum)
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			t.problem("%s: map key %s", from, goType.Key())
		}
		return "{}" + t.expression(goType.Elem(), from, enum)
	case reflect.Float64:
		return "double"
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return goType.Kind().String()
	}
	t.problem("%s: type %s", from, goType)
	return "?"
}

func (t *table) alias(goType reflect.Type, enum []any) {
	line := fmt.Sprintf("alias %s %s", goType.Name(), t.unnamed(goType, goType, nil))
	if _, ok := reflect.New(goType).Interface().(interface{ Marshal() ([]byte, error) }); ok {
		line += " wrapped"
	}
	if len(enum) > 0 {
		line += " = " + joined(enum, "|")
	}
	aliases := t.inPackage(goType).aliases
	if len(line) > len(aliases[goType.Name()]) {
		aliases[goType.Name()] = line
	}
}

func (t *table) reference(goType reflect.Type, from reflect.Type) string {
	if goType.PkgPath() == from.PkgPath() {
		return goType.Name()
	}
	return aliasOf(goType.PkgPath()) + "." + goType.Name()
}

func (p *goPackage) write(out *bufio.Writer) {
	fmt.Fprintf(out, "\npackage %s %s\n", aliasOf(p.path), openAPIPrefix(p.path))
	for _, name := range sortedKeys(p.aliases) {
		fmt.Fprintln(out, p.aliases[name])
	}
	for _, name := range sortedKeys(p.types) {
		fmt.Fprint(out, p.types[name])
	}
}

// aliasOf is the last two elements of a package's path: core/v1.
func aliasOf(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[len(parts)-2:], "/")
}

// openAPIPrefix is the package's path with its host reversed: io.k8s.api.core.v1.
func openAPIPrefix(path string) string {
	host, rest, _ := strings.Cut(path, "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(rest, "/", ".")
}

func protobufTag(field reflect.StructField) string {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return "0"
	}
	return parts[1]
}

// isServed tells types with published definitions from those the server only sends to webhooks.
func isServed(goType reflect.Type) bool {
	return aliasOf(goType.PkgPath()) != "admission/v1"
}

// enumOf finds the allowed values of a property, of its items or of its values.
func enumOf(property spec.Schema) []any {
	if property.Items != nil && property.Items.Schema != nil {
		return enumOf(*property.Items.Schema)
	}
	if property.AdditionalProperties != nil && property.AdditionalProperties.Schema != nil {
		return enumOf(*property.AdditionalProperties.Schema)
	}
	return property.Enum
}

func isEmptyMap(value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Map && v.Len() == 0
}

func joined(list any, separator string) string {
	values := reflect.ValueOf(list)
	words := make([]string, values.Len())
	for i := range words {
		words[i] = fmt.Sprint(values.Index(i).Interface())
	}
	return strings.Join(words, separator)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
