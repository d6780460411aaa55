// Draws each chart of the page from the specification stored in its figure.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.chart")) {
    const specification = JSON.parse(figure.querySelector("script").textContent);
    const place = document.createElement("div");
    figure.append(place);
    vegaEmbed(place, specification, { actions: false });
  }
});
