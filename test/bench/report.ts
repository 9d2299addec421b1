import type { Comparison, Suite } from './suite.ts'

const columns = [
  'request',
  'at once',
  'who',
  'req/s',
  'p50 ms',
  'p99 ms',
  'first ms',
  'CPU ms/req',
  'peak MB',
  'heap MB',
  'req/s ratio',
  'peak ratio',
]
const widths = [20, 8, 9, 8, 8, 8, 8, 11, 8, 9, 12, 11]

const line = (cells: readonly string[]) =>
  `${cells.map((cell, index) => (index === 2 ? cell.padEnd(9) : cell.padStart(widths[index] ?? 8))).join(' ')}\n`

export const heading = ({ name, about }: Suite) => `\n${name}: ${about}\n\n${line(columns)}`

export function rows({
  request,
  concurrency,
  subject,
  floor,
  ratio,
  subjectPeak,
  floorPeak,
  heap,
}: Comparison): string {
  const live = `${heap.before.toFixed(0)} > ${heap.after.toFixed(0)}`
  const figures = ({ perSecond, p50, p99, first, cpuPerRequest }: Comparison['subject']) => [
    perSecond.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
    Number.isNaN(first) ? '' : first.toFixed(2),
    cpuPerRequest.toFixed(3),
  ]
  const ratios = [ratio, subjectPeak / floorPeak].map((value) => value.toFixed(2))
  return (
    line([request, `${concurrency}`, 'subject', ...figures(subject), subjectPeak.toFixed(0), live, ...ratios]) +
    line(['', '', 'floor', ...figures(floor), floorPeak.toFixed(0)])
  )
}

export interface Verdict {
  suite: string
  wanted: string
  request: string
  concurrency: number
  met: boolean
}

export const verdictsOf = ({ name: suite, wanted }: Suite, comparisons: readonly Comparison[]): Verdict[] =>
  wanted.flatMap(({ what, met }) =>
    comparisons.flatMap((comparison) => {
      const { request, concurrency } = comparison
      const isMet = met(comparison)
      return isMet === undefined ? [] : [{ suite, wanted: what, request, concurrency, met: isMet }]
    }),
  )

export const verdictLines = (verdicts: readonly Verdict[]) =>
  `\n${verdicts
    .map(
      ({ wanted, request, concurrency, met }) =>
        `${met ? 'met     ' : 'NOT MET '} ${wanted} (${request}, ${concurrency} at once)\n`,
    )
    .join('')}`
