import { generate } from 'lean-qr'
import styles from './qr-code.module.css'

/** Shows a QR code, dark on light in both color schemes. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = generate(text)
  const cells = Array.from({ length: code.size * code.size }, (_, at) => [at % code.size, Math.floor(at / code.size)])
  const path = cells.flatMap(([x = 0, y = 0]) => (code.get(x, y) ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : []))
  const size = code.size + 2 * MARGIN
  return (
    <svg className={styles.code} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path.join('')} fill="#000" shapeRendering="crispEdges" />
    </svg>
  )
}

/** Cells of the quiet zone that scanners need. */
const MARGIN = 3
