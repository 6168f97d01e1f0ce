/* make bundle: ab4c434c730654a1 helpers/widgets/page.css helpers/widgets/text.js tools/author/bundle/build.mjs tools/learner/jupyter/extension/lab.css tools/learner/jupyter/extension/reload.js */
(()=>{var d=`/* What a lesson's page needs beside its widgets: JupyterLab's extension brings it at once, else the first widget. */
/* On a dark page the figures of a lesson, which are white, would glare. Turned dark, they keep their hues; photos stay. */
[data-jp-theme-light="false"]
  :is(.jp-Notebook:has(.explorer, .quiz), .nn-lesson)
  .jp-RenderedImage
  img:not(.jp-needs-light-background),
[data-jp-theme-light="false"].jp-Notebook:has(.explorer, .quiz) .jp-RenderedImage img:not(.jp-needs-light-background) {
  border-radius: 4px;
  filter: invert(0.93) hue-rotate(180deg);
}
/* What is printed breaks between words; JupyterLab would break it anywhere. */
:is(.jp-Notebook:has(.explorer, .quiz), .nn-lesson) .jp-OutputArea-output pre {
  word-break: normal;
}
`;var k=/(\d[\d.,]*e[-−+]?\d+)/i;function u(t){return t.split(k).map((s,n)=>n%2?x("span","nn-number",s):document.createTextNode(s))}function x(t,s,n){let o=document.createElement(t);return s&&(o.className=s),o.textContent=n,o}var p=`/* What a folded cell says of itself is read whole, on several lines where the page is narrow. */
.nn-lesson :is(.jp-Placeholder, .jp-Placeholder-content, .jp-Placeholder-contentContainer) {
  height: auto;
  min-width: 0;
  overflow: visible;
}
.nn-lesson .jp-PlaceholderText {
  overflow: visible;
  text-overflow: clip;
  white-space: normal;
}
.nn-lesson .nn-number {
  white-space: nowrap;
}
`;var j="application/vnd.jupyter.widget-view+json",E="This was not loaded in time. Reload the page (F5).",h=10,g=/(^|\/)\d\d_\w+\.ipynb$/,m,f=new WeakMap,T=t=>t.mimeType===j&&t.hasClass("jupyter-widgets")&&t.widgets?.length===0;function v(t){for(let{outputArea:s}of t.widgets)[...s?.widgets??[]].forEach((n,o)=>{let e=[...n.children?.()??[]].find(T),a=e?f.get(e)??0:0;!e?.renderModel||a>h||(f.set(e,a+1),e.removeClass("jupyter-widgets"),a===h?e.node.textContent=E:e.renderModel(s?.model.get(o)))})}function C(t){let s=!1,n=!1;t.metadataChanged.connect((o,{key:e})=>{s=e==="language_info"}),t.contentChanged.connect(()=>{n||=!s,s=!1}),t.stateChanged.connect((o,{name:e,newValue:a})=>{e==="dirty"&&a&&!n&&(t.dirty=!1)})}function I(t){for(let s of t.querySelectorAll(".jp-RenderedMarkdown, .quiz code")){let n=document.createTreeWalker(s,NodeFilter.SHOW_TEXT),o=[];for(;n.nextNode();)n.currentNode instanceof Text&&o.push(n.currentNode);for(let e of o){if(e.parentElement?.closest(".nn-number, mjx-container, pre")||e.parentElement?.textContent?.includes("$"))continue;let a=u(e.data);a.length>1&&e.replaceWith(...a)}}}function N(t,s){let n=t.findIndex(({model:e})=>e.sharedModel.getSource().includes(`only="${s}"`));if(n<0)return null;let o=t.map(({model:e})=>e.type==="markdown"&&/^## /.test(e.sharedModel.getSource()));return[Math.max(o.lastIndexOf(!0,n),0),n]}async function L(t,s,n){let e=(n.target instanceof Element?n.target:null)?.closest(".practice a, .practice-overview a")?.getAttribute("href")??"",[a,c]=e.split("/").slice(-1)[0].split("#");if(!g.test(a)||n.ctrlKey||n.metaKey||n.shiftKey||n.altKey)return;let l=s.currentWidget?.context.path??"";n.preventDefault();let w=l.slice(0,l.lastIndexOf("/")+1)+a,r=await t.commands.execute("docmanager:open",{path:w});await r?.context.ready;let i=c&&r&&N([...r.content.widgets],c);i&&(r.content.activeCellIndex=i[1],await r.content.scrollToItem(i[0],"start"))}function O(t,s){document.head.append(Object.assign(document.createElement("style"),{textContent:d+p}));let n=async o=>{o.node.classList.toggle("nn-lesson",g.test(o.context.path));let e=0,a=()=>{v(o.content),clearTimeout(e),o.node.classList.contains("nn-lesson")&&(e=setTimeout(I,300,o.node))};new MutationObserver(a).observe(o.node,{childList:!0,subtree:!0}),await o.context.ready,C(o.context.model)};document.addEventListener("click",o=>L(t,s,o)),s.forEach(n),s.widgetAdded.connect((o,e)=>n(e))}async function W(){let[t]=Object.values(m["@jupyterlab/notebook"]),{INotebookTracker:s}=(await t.get())();return()=>({id:"lessons-reload:plugin",autoStart:!0,requires:[s],activate:O})}var A=t=>{m=t};globalThis._JUPYTERLAB??={};globalThis._JUPYTERLAB["lessons-reload"]={init:A,get:W};})();
