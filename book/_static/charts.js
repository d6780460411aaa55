// Draws each chart of the page from the specification stored in its figure.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.chart")) {
    const specification = JSON.parse(figure.querySelector("script").textContent);
    // It names Vega-Lite 5; Vega-Lite 6 draws it alike, but would warn in the console.
    delete specification.$schema;
    const place = document.createElement("div");
    figure.append(place);
    // A heatmap has thousands of cells: too many for SVG to redraw while a slider moves.
    vegaEmbed(place, specification, { mode: "vega-lite", renderer: "canvas", actions: false });
  }
});
