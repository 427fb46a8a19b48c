package timeline

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// rgb is a color as linear red, green and blue, from 0 to 1.
type rgb [3]float64

// linear returns the color of a word like "#0a7a50".
func linear(t *testing.T, word string) (c rgb) {
	t.Helper()
	var parts [3]int
	_, err := fmt.Sscanf(word, "#%02x%02x%02x", &parts[0], &parts[1], &parts[2])
	require.NoError(t, err)
	for i, p := range parts {
		v := float64(p) / 255
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

// contrast returns the contrast of two colors as WCAG 2 defines it.
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a), light(b)) / min(light(a), light(b))
}

// eyes returns the matrices that simulate color blindness (Machado, Oliveira and Fernandes, 2009), at full strength.
func eyes() map[string][3]rgb {
	return map[string][3]rgb{
		"all cones": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"no red":    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"no green":  {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
		"no blue":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	}
}

// seen returns a color as these eyes see it.
func seen(matrix [3]rgb, c rgb) (out rgb) {
	for i, row := range matrix {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// lab returns a color in CIELAB, for the white D65.
func lab(c rgb) [3]float64 {
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
