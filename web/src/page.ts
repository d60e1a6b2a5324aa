// The page's script: lays interactive charts over the still pictures. What it draws is in the element `#data`; it asks nobody.
import { along } from "./along";
import { CaptureView } from "./capture";
import { losses, repeats } from "./cells";
import { Chart, type Drawing } from "./chart";
import { byId, element } from "./dom";
import { heat } from "./heat";
import type { Choose } from "./item";
import { startLater } from "./later";
import type { Charts, Data } from "../build/model";
import { plot } from "./plot";
import { RunView } from "./run";
import { startTables } from "./tables";
import { startTerms } from "./terms";
import { startTheme } from "./theme";
import { trips } from "./trips";

function drawing(charts: Charts, figure: HTMLElement, choose: Choose): Drawing | null {
  const number = Number(figure.dataset["number"]);
  const of = <T>(all: T[], draw: (data: T, choose: Choose) => Drawing): Drawing | null => {
    const data = all[number];
    return data === undefined ? null : draw(data, choose);
  };
  switch (figure.dataset["chart"]) {
    case "plot": return of(charts.plots, plot);
    case "along": return of(charts.along, along);
    case "heat": return of(charts.heats, heat);
    case "repeats": return of(charts.repeats, repeats);
    case "losses": return of(charts.losses, losses);
    case "trips": return of(charts.trips, trips);
    default: return null;
  }
}

function start(): void {
  const data = JSON.parse(byId("data").textContent) as Data;
  document.documentElement.classList.add("scripted");
  byId("tools").hidden = false;
  startTheme();
  startTerms();
  const view = data.runs.length > 0 ? new RunView(data.runs, byId("curves").textContent.split("\n")) : null;
  if (data.captures.length > 0) new CaptureView(data.captures, byId("segments").textContent.split("\n"));
  const choose = (cell: string): void => {
    view?.choose(cell);
    byId("runs").scrollIntoView();
  };
  for (const figure of document.querySelectorAll<HTMLElement>("figure[data-chart]")) {
    const drawn = drawing(data.charts, figure, choose);
    const place = element("div", { class: "live" });
    figure.querySelector(".still")?.after(place);
    if (drawn) new Chart(place, drawn);
  }
  document.documentElement.dataset["ready"] = "yes";
  startLater(() => {
    startTables();
    document.documentElement.dataset["whole"] = "yes";
  });
}

start();
