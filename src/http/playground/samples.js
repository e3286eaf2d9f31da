// Small media made in the browser, so that the examples need no files.

function canvas(width, height, draw) {
  const element = document.createElement("canvas");
  element.width = width;
  element.height = height;
  draw(element.getContext("2d"), width, height);
  return element;
}

/// A red traffic light against an evening sky.
export async function picture() {
  const drawn = canvas(320, 240, (pen, width, height) => {
    const sky = pen.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, "#8fb6e8");
    sky.addColorStop(1, "#f3d9b1");
    pen.fillStyle = sky;
    pen.fillRect(0, 0, width, height);
    pen.fillStyle = "#555";
    pen.fillRect(154, 170, 12, 70);
    pen.fillStyle = "#222";
    pen.fillRect(125, 22, 70, 156);
    ["#ff2b20", "#4a3a12", "#12381d"].forEach((colour, at) => {
      pen.fillStyle = colour;
      pen.beginPath();
      pen.arc(160, 52 + at * 48, 19, 0, 2 * Math.PI);
      pen.fill();
    });
  });
  const blob = await new Promise((resolve) => drawn.toBlob(resolve, "image/png"));
  return new File([blob], "traffic-light.png", { type: "image/png" });
}

/// Three short beeps: 16-bit WAV, one channel.
export async function sound() {
  const rate = 16_000;
  const samples = Math.round(rate * 1.5);
  const bytes = new DataView(new ArrayBuffer(44 + samples * 2));
  const write = (at, text) => [...text].forEach((letter, index) => bytes.setUint8(at + index, letter.charCodeAt(0)));
  write(0, "RIFF");
  bytes.setUint32(4, 36 + samples * 2, true);
  write(8, "WAVEfmt ");
  bytes.setUint32(16, 16, true);
  bytes.setUint16(20, 1, true);
  bytes.setUint16(22, 1, true);
  bytes.setUint32(24, rate, true);
  bytes.setUint32(28, rate * 2, true);
  bytes.setUint16(32, 2, true);
  bytes.setUint16(34, 16, true);
  write(36, "data");
  bytes.setUint32(40, samples * 2, true);
  for (let at = 0; at < samples; at += 1) {
    const beep = (at / rate) % 0.5;
    // Faded in and out over 10 ms, so that it does not click.
    const level = beep < 0.25 ? Math.min(1, beep / 0.01, (0.25 - beep) / 0.01) : 0;
    bytes.setInt16(44 + at * 2, Math.round(12_000 * level * Math.sin((2 * Math.PI * 880 * at) / rate)), true);
  }
  return new File([bytes.buffer], "beeps.wav", { type: "audio/wav" });
}

/// The container that this browser records, or nothing where it records none.
function recordedType() {
  if (typeof MediaRecorder === "undefined" || !HTMLCanvasElement.prototype.captureStream) return null;
  return ["video/webm;codecs=vp8", "video/webm", "video/mp4"].find((type) => MediaRecorder.isTypeSupported(type)) ?? null;
}

export function canRecordVideo() {
  return recordedType() !== null;
}

/// Few: the model reads each frame, and the example is to be quick.
const FRAMES_A_SECOND = 5;

/// A ball that rolls to the right for a second and a half.
export async function video() {
  const type = recordedType();
  const stage = canvas(320, 180, () => {});
  const pen = stage.getContext("2d");
  const draw = (part) => {
    pen.fillStyle = "#e9eef7";
    pen.fillRect(0, 0, 320, 180);
    pen.fillStyle = "#8a9bb4";
    pen.fillRect(0, 140, 320, 40);
    pen.fillStyle = "#d7402b";
    pen.beginPath();
    pen.arc(30 + 260 * part, 116, 24, 0, 2 * Math.PI);
    pen.fill();
  };
  draw(0);
  const recorder = new MediaRecorder(stage.captureStream(FRAMES_A_SECOND), { mimeType: type });
  const chunks = [];
  recorder.addEventListener("dataavailable", (event) => chunks.push(event.data));
  const stopped = new Promise((resolve) => recorder.addEventListener("stop", resolve));
  recorder.start();
  const started = performance.now();
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const part = (performance.now() - started) / 1500;
      draw(Math.min(1, part));
      if (part < 1) return;
      clearInterval(timer);
      resolve();
    }, 1000 / FRAMES_A_SECOND);
  });
  recorder.stop();
  await stopped;
  const container = type.split(";")[0];
  return new File(chunks, `rolling-ball.${container.split("/")[1]}`, { type: container });
}
