package children

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

// aWriter returns a writer whose cache is that of before, and which counts its updates.
func aWriter(t *testing.T, exist ...client.Object) (w Writer, updates *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	updates = new(int)
	c := fakeapi.New(scheme).WithObjects(exist...).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			*updates++
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	return Writer{Client: c, Reader: c}, updates
}

func aJob() *v1alpha1.LaunchJob {
	return &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", UID: "u-1"}}
}

func aService(meta metav1.ObjectMeta, selects string) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta,
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"job": selects}},
	}
}

// TestKeep checks that a child is created once, and updated only if a wanted field differs.
func TestKeep(t *testing.T) {
	job := aJob()
	w, updates := aWriter(t)
	keep := func(selects string) *corev1.Service {
		_, err := w.Keep(t.Context(), w.Reader, job, aService(Meta(job, "pi"), selects))
		require.NoError(t, err)
		have := &corev1.Service{}
		require.NoError(t, w.Reader.Get(t.Context(), client.ObjectKey{Namespace: "hpc", Name: "pi"}, have))
		return have
	}
	have := keep("pi")
	require.True(t, metav1.IsControlledBy(have, job))
	have.Spec.SessionAffinity = corev1.ServiceAffinityNone // a default of the API server
	require.NoError(t, w.Client.Update(t.Context(), have))
	keep("pi")
	require.Zero(t, *updates)
	require.Equal(t, "other", keep("other").Spec.Selector["job"])
	require.Equal(t, 1, *updates)
}

// TestTaken checks that an object of another owner stays as it is.
func TestTaken(t *testing.T) {
	theirs := aService(metav1.ObjectMeta{Namespace: "hpc", Name: "pi"}, "theirs")
	w, updates := aWriter(t, theirs)
	ours := aService(Meta(aJob(), "pi"), "pi")
	_, kept := w.Keep(t.Context(), w.Reader, aJob(), ours.DeepCopy())
	for _, err := range []error{kept, w.Create(t.Context(), aJob(), ours)} {
		var taken *Taken
		require.ErrorAs(t, err, &taken)
		require.EqualError(t, err, "Service pi exists and does not belong to this job: rename one of them")
	}
	require.Zero(t, *updates)
}

// TestFormerJob checks that an object of a deleted job with the same name is not taken for that of a stranger: nobody needs
// to rename anything.
func TestFormerJob(t *testing.T) {
	former := aJob()
	former.UID = "before"
	w, _ := aWriter(t, aService(Meta(former, "pi"), "pi"))
	_, err := w.Keep(t.Context(), w.Reader, aJob(), aService(Meta(aJob(), "pi"), "pi"))
	var taken *Taken
	require.ErrorAs(t, err, &taken)
	require.EqualError(t, err, "Service pi belongs to a deleted job of this name: waiting until it is deleted too")
}

// TestCreateAgain checks that a repeated create changes nothing.
func TestCreateAgain(t *testing.T) {
	w, _ := aWriter(t)
	for range 2 {
		require.NoError(t, w.Create(t.Context(), aJob(), aService(Meta(aJob(), "pi"), "pi")))
	}
}
