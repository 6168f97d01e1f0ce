// What Python has packed, deflated and then base64, as it was. A notebook is half as large so far as it is code.
/** @param {string} packed */
export function unpack(packed) {
  const bytes = new Blob([Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0))]);
  const stream = bytes.stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream, { headers: { "content-type": "text/javascript" } });
}
