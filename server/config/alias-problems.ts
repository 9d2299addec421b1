import { type Document, isAlias, isPair, isSeq, type LineCounter, type Node, type Pair, visit } from 'yaml'

type Step = Document | Node | Pair

/** What is wrong with the aliases of a document, with line and path: no anchor stands before them, or they stand in what they name. */
export function aliasProblems(document: Document, lines: LineCounter): string[] {
  const anchors = new Map<string, Node>()
  const problems: string[] = []
  visit(document, {
    Node(_key, node, above) {
      if (!isAlias(node)) {
        if (node.anchor) anchors.set(node.anchor, node)
        return
      }
      const named = anchors.get(node.source)
      if (named && !above.includes(named)) return
      const place = `line ${lineOf(node, lines)}, ${pathOf([...above, node])}`
      const message = named ? 'stands in what it names' : `has no anchor &${node.source} before it`
      problems.push(`  ${place}: the alias *${node.source} ${message}`)
    },
  })
  return problems
}

const lineOf = ({ range }: Node, lines: LineCounter) => lines.linePos(range?.[0] ?? 0).line

const pathOf = (steps: readonly Step[]) =>
  steps
    .flatMap((step, n) => (isPair(step) ? [`${step.key}`] : isSeq(step) ? [`${step.items.indexOf(steps[n + 1])}`] : []))
    .join('.') || 'the file'
