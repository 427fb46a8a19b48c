package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// readPolicy reads the admission policy of install.yaml.
func readPolicy(t *testing.T) (p admissionv1.ValidatingAdmissionPolicy) {
	t.Helper()
	text, err := os.ReadFile("../../../images/install.yaml")
	require.NoError(t, err)
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(doc, "\nkind: ValidatingAdmissionPolicy\n") {
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &p))
		}
	}
	require.NotEmpty(t, p.Name)
	return p
}

// expression is a CEL expression of a policy, whose value has any type.
type expression struct{ name, text string }

// GetName returns the name of a variable.
func (e expression) GetName() string { return e.name }

// GetExpression returns the text.
func (e expression) GetExpression() string { return e.text }

// ReturnTypes returns the types that the value may have.
func (expression) ReturnTypes() []*types.Type { return []*types.Type{types.AnyType} }

// allows returns a function that evaluates a policy as the API server does.
func allows(t *testing.T, p admissionv1.ValidatingAdmissionPolicy) func(*testing.T, *admission.VersionedAttributes, authorizer.UnconditionalAuthorizer) bool {
	t.Helper()
	c, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	require.NoError(t, err)
	all := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range p.Spec.Variables {
		require.Nil(t, c.CompileAndStoreVariable(expression{v.Name, v.Expression}, all, environment.StoredExpressions).Error)
	}
	var conditions, validations []cel.ExpressionAccessor
	for _, m := range p.Spec.MatchConditions {
		conditions = append(conditions, new(matchconditions.MatchCondition(m)))
	}
	for _, v := range p.Spec.Validations {
		validations = append(validations, expression{text: v.Expression})
	}
	matches, checks := c.CompileCondition(conditions, all, environment.StoredExpressions), c.CompileCondition(validations, all, environment.StoredExpressions)
	require.Empty(t, slices.Concat(matches.CompilationErrors(), checks.CompilationErrors()))
	matcher := matchconditions.NewMatcher(matches, p.Spec.FailurePolicy, "policy", "validate", p.Name)
	return func(t *testing.T, a *admission.VersionedAttributes, may authorizer.UnconditionalAuthorizer) bool {
		t.Helper()
		matched := matcher.Match(t.Context(), a, nil, may)
		require.NoError(t, matched.Error)
		if !matched.Matches {
			return true
		}
		request := cel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(a.GetResource()), metav1.GroupVersionKind(a.GetKind()))
		results, _, err := checks.ForInput(t.Context(), a, request, cel.OptionalVariableBindings{Authorizer: may}, nil, celconfig.RuntimeCELCostBudget)
		require.NoError(t, err)
		return !slices.ContainsFunc(results, func(r cel.EvaluationResult) bool {
			require.NoError(t, r.Error)
			return r.EvalResult != types.True
		})
	}
}

// rights are users who may create pods.
type rights []string

// Authorize implements authorizer.UnconditionalAuthorizer.
func (r rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, name := range r {
		if a.GetUser().GetName() == name && a.GetVerb() == "create" && a.GetResource() == "pods" {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// TestPolicyOfAccounts checks who may write a job with an account. The controllers of Kubernetes may not use accounts,
// and must be able to change the metadata of a job, which a deletion in the foreground needs.
func TestPolicyOfAccounts(t *testing.T) {
	p := readPolicy(t)
	allowed := allows(t, p)
	require.Equal(t, []string{"launchjobs"}, p.Spec.MatchConstraints.ResourceRules[0].Resources, "no subresource names accounts")
	job := func(meta map[string]any, account string) *unstructured.Unstructured {
		pod := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "i"}}}
		if account != "" {
			pod["serviceAccountName"] = account
		}
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "hpc", "name": "pi"},
			"spec": map[string]any{"roles": []any{map[string]any{"name": "worker", "template": map[string]any{"spec": pod}}}}}}
		u.SetAPIVersion("muster.dev/v1alpha1")
		u.SetKind("LaunchJob")
		maps.Copy(u.Object["metadata"].(map[string]any), meta)
		return u
	}
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	ends := map[string]any{"deletionTimestamp": "2026-11-01T12:00:00Z", "finalizers": []any{"foregroundDeletion"}}
	ended := map[string]any{"deletionTimestamp": "2026-11-01T12:00:00Z"}
	for name, row := range map[string]struct {
		by       string
		old, new *unstructured.Unstructured
		denied   bool
	}{
		"created without an account":              {by: "author", new: job(nil, "")},
		"created with an account":                 {by: "author", new: job(nil, "vault"), denied: true},
		"created by a user who may create pods":   {by: "admin", new: job(nil, "vault")},
		"the collector removes its finalizer":     {by: collector, old: job(ends, "vault"), new: job(ended, "vault")},
		"an account is added":                     {by: "author", old: job(nil, ""), new: job(nil, "vault"), denied: true},
		"an account is added during the deletion": {by: collector, old: job(ends, ""), new: job(ended, "vault"), denied: true},
		"an account is changed":                   {by: "author", old: job(nil, "one"), new: job(nil, "vault"), denied: true},
		"an account is removed":                   {by: "author", old: job(nil, "vault"), new: job(nil, "")},
		"nothing changes":                         {by: "author", old: job(nil, "vault"), new: job(nil, "vault")},
	} {
		t.Run(name, func(t *testing.T) {
			what := admission.Create
			var old runtime.Object // a nil of its own type would be an object
			if row.old != nil {
				what, old = admission.Update, row.old
			}
			resource := schema.GroupVersionResource{Group: "muster.dev", Version: "v1alpha1", Resource: "launchjobs"}
			a, err := admission.NewVersionedAttributes(admission.NewAttributesRecord(row.new, old, row.new.GroupVersionKind(), "hpc", "pi",
				resource, "", what, nil, false, &user.DefaultInfo{Name: row.by}), row.new.GroupVersionKind(), nil)
			require.NoError(t, err)
			require.Equal(t, !row.denied, allowed(t, a, rights{"admin"}))
		})
	}
}
