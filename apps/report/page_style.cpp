#include "report/page_style.h"

namespace ronde::apps {

std::string_view page_style() {
  return R"css(:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #e3e6eb; --text: #1a2230; --soft: #5d6878;
  --s0: #2563c9; --s1: #d4650a; --hit: 37 99 201; --miss: 208 60 40; --good: #18794e; --bad: #b3261e;
  --t2: #3a9d5d; --t3: #8a5cc9; --t4: #c04b8a; --t5: #a9b2bf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11151b; --card: #1a2028; --line: #2d3642; --text: #e6eaf0; --soft: #98a4b3;
    --s0: #6ea8ff; --s1: #ff9d4a; --hit: 58 118 235; --miss: 240 96 74; --good: #5fd39a; --bad: #ff8a80;
    --t2: #63c486; --t3: #b08cf0; --t4: #ec83b6; --t5: #566274;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 16px 8px; }
footer { max-width: 1120px; margin: 0 auto; padding: 8px 16px 32px; color: var(--soft); font-size: 13px; }
h1 { margin: 2px 0; font-size: 30px; line-height: 1.2; overflow-wrap: anywhere; }
h1 em { font-style: normal; font-weight: 400; color: var(--soft); }
h2 { margin: 36px 0 10px; font-size: 20px; }
h3 { margin: 0; font-size: 15px; }
.over { margin: 0; color: var(--soft); font-size: 13px; }
.lead { margin: 4px 0 0; font-size: 17px; color: var(--soft); }
.note { margin: 0 0 10px; color: var(--soft); font-size: 14px; }
.status { margin-left: 10px; padding: 1px 9px; border: 1px solid; border-radius: 99px; font-size: 12px; }
.status.good { color: var(--good); }
.status.other { color: var(--bad); }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 22px 0 0; }
.figure, .chart, .block { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.figure { padding: 10px 14px; }
.figure dt { color: var(--soft); font-size: 13px; }
.figure dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.figure small { display: block; color: var(--soft); font-size: 12px; font-weight: 400; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; }
.chart, .block { margin: 0; padding: 12px 14px; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 14px; align-items: baseline; }
.key { color: var(--soft); font-size: 13px; white-space: nowrap; }
.key b { color: var(--text); font-weight: 600; font-variant-numeric: tabular-nums; }
.key::before { content: ""; display: inline-block; width: 14px; height: 3px; margin: 0 5px 3px 0; border-radius: 2px; }
.key.s0::before { background: var(--s0); }
.key.s1::before { background: var(--s1); }
svg { display: block; width: 100%; height: auto; overflow: visible; font-size: 11px; }
svg .grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
svg .tick { fill: var(--soft); font-variant-numeric: tabular-nums; }
.series path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.s0 path { stroke: var(--s0); }
.s0 circle { fill: var(--s0); }
.s1 path { stroke: var(--s1); }
.s1 circle { fill: var(--s1); }
.area rect { fill: transparent; }
.area line, .area text { visibility: hidden; }
.area line { stroke: var(--soft); stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
.area text { fill: var(--text); }
.area:hover line, .area:hover text { visibility: visible; }
.wide { overflow-x: auto; }
.matrix { width: 100%; border-collapse: separate; border-spacing: 2px; table-layout: fixed; font-size: 12px; }
.matrix th { padding: 0; color: var(--soft); font-weight: 400; }
.matrix th:first-child { width: 86px; padding-right: 6px; text-align: right; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.matrix thead span { display: inline-block; max-height: 90px; overflow: hidden; writing-mode: vertical-rl;
  transform: rotate(180deg); }
.matrix.short thead span { writing-mode: initial; transform: none; }
.matrix td { height: 30px; padding: 0; border-radius: 3px; text-align: center; font-variant-numeric: tabular-nums; }
.matrix .none { color: var(--soft); opacity: 0.45; }
.matrix .hit { background: rgb(var(--hit) / var(--s)); }
.matrix .miss { background: rgb(var(--miss) / var(--s)); }
.matrix .strong { color: #fff; }
.bars { margin: 8px 0 18px; }
.bar { display: grid; grid-template-columns: 92px 1fr 58px; gap: 8px; align-items: center; font-size: 14px;
  line-height: 1.75; }
.bar span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft); text-align: right; }
.bar i { height: 12px; border-radius: 3px;
  background: linear-gradient(90deg, var(--s0) var(--w), var(--line) var(--w)); }
.bar b { font-weight: 600; text-align: right; font-variant-numeric: tabular-nums; }
.confusions { margin: 6px 0 0; padding: 0; list-style: none; font-size: 14px; columns: 2; column-gap: 18px; }
.confusions li { break-inside: avoid; padding: 1px 0 1px 2.8em; text-indent: -2.8em; }
.confusions b { display: inline-block; min-width: 2.6em; text-indent: 0; font-variant-numeric: tabular-nums; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(124px, 1fr)); gap: 10px; }
.mistakes figure { margin: 0; padding: 8px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.mistakes img { display: block; width: 100%; image-rendering: pixelated; border-radius: 4px; }
.mistakes figcaption { display: block; margin-top: 6px; font-size: 12px; line-height: 1.4; color: var(--soft);
  overflow-wrap: anywhere; }
.mistakes figcaption b { color: var(--text); }
.times { display: flex; height: 22px; border-radius: 6px; overflow: hidden; gap: 1px; }
.times i { width: var(--w); background: var(--c); }
.times-key { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 10px 0 0; padding: 0; list-style: none;
  font-size: 14px; color: var(--soft); }
.times-key b { color: var(--text); font-weight: 600; }
.times-key li::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 7px;
  border-radius: 3px; background: var(--c); }
.step { display: grid; grid-template-columns: 64px 1fr 84px; gap: 8px; align-items: center; margin: 4px 0;
  font-size: 14px; }
.step .times { background: var(--t5); }
.step b { font-weight: 600; text-align: right; font-variant-numeric: tabular-nums; }
.t0 { --c: var(--s0); }
.t1 { --c: var(--s1); }
.t2 { --c: var(--t2); }
.t3 { --c: var(--t3); }
.t4 { --c: var(--t4); }
.t5 { --c: var(--t5); }
.command { margin: 0 0 12px; padding: 12px 14px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
.run { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0 0 14px; font-size: 14px; }
.run dt { color: var(--soft); }
.run dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--soft); font-size: 14px; }
.epochs { margin-top: 8px; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.epochs th, .epochs td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
.epochs th { color: var(--soft); font-weight: 400; }
@media (min-width: 900px) {
  main { padding-top: 44px; }
  .pair { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  svg { font-size: 9px; }
}
@media (max-width: 640px) {
  .figures { grid-template-columns: 1fr 1fr; }
}
@media (max-width: 480px) {
  h1 { font-size: 24px; }
  .figure dd { font-size: 20px; }
  .confusions { columns: 1; }
  .matrix { font-size: 10px; border-spacing: 1px; }
  .matrix th:first-child { width: 70px; padding-right: 4px; }
  .mistakes { grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 8px; }
  .mistakes figcaption { font-size: 11px; }
  .run { grid-template-columns: 1fr; gap: 0; }
  .run dd { margin-bottom: 8px; }
}
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { background: none; font-size: 13px; }
  main { padding-top: 0; }
  svg { font-size: 13px; }
  h2 { margin-top: 22px; break-after: avoid; }
  .note { break-after: avoid; }
  .chart, .block, figure, .command, .run, .figures { break-inside: avoid; }
  .pair { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .bar { grid-template-columns: 76px 1fr 52px; font-size: 12px; }
  .confusions { columns: 1; font-size: 12px; }
  .matrix { font-size: 10px; border-spacing: 1px; }
  .matrix th:first-child { width: 64px; padding-right: 4px; }
  .matrix td { height: 24px; }
  .mistakes { grid-template-columns: repeat(8, minmax(0, 1fr)); gap: 6px; }
  .mistakes figure { padding: 4px; }
  .mistakes figcaption { font-size: 10px; }
}
)css";
}

}  // namespace ronde::apps
