package example

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// validator checks LaunchJobs with the CRD and the API server's own code.
type validator struct {
	schema *schema.Structural
	values validation.SchemaValidator
	rules  *cel.Validator
}

func newValidator(t *testing.T) validator {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "images/chart/files/crd/crd.yaml"))
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(text, &crd))
	var props apiextensions.JSONSchemaProps
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil))
	structural, err := schema.NewStructural(&props)
	require.NoError(t, err)
	values, _, err := validation.NewSchemaValidator(&props)
	require.NoError(t, err)
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	require.NotNil(t, rules, "the CRD has rules")
	return validator{schema: structural, values: values, rules: rules}
}

// check returns the errors that the API server would report for a new object: unknown fields,
// values that the schema does not allow, violated rules.
func (v validator) check(ctx context.Context, object *unstructured.Unstructured) error {
	var all []error
	for _, path := range pruning.PruneWithOptions(object.Object, v.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		all = append(all, fmt.Errorf("unknown field: %s", path))
	}
	defaulting.Default(object.Object, v.schema)
	for _, err := range validation.ValidateCustomResource(nil, object.Object, v.values) {
		all = append(all, err)
	}
	broken, _ := v.rules.Validate(ctx, nil, v.schema, object.Object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range broken {
		all = append(all, err)
	}
	return errors.Join(all...)
}
