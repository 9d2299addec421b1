import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
// Writes HTML, which the parser of the front end never does: that one reads answers while they arrive.
import markdown from 'markdown-it'

/** A guide: its slug, its title, and the file of the repository. */
export interface Guide {
  slug: string
  title: string
  file: string
}

/** HTML tags are escaped. */
const reader = markdown({ html: false })

const root = new URL('../../', import.meta.url)

/** Renders a guide as a page that links to the others. */
export async function renderGuide(guide: Guide, guides: readonly Guide[]): Promise<string> {
  const text = await readFile(new URL(guide.file, root), 'utf8')
  const tokens = reader.parse(text.replace(/^<!-- .* -->\n/gm, ''), {})
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') token.attrSet('id', toAnchor(tokens[at + 1]?.content ?? ''))
    if (token.children) token.children = rewriteLinks(token.children, guide.file, guides)
  }
  return renderPage(guide, guides, reader.renderer.render(tokens, reader.options, {}))
}

type Token = ReturnType<typeof reader.parse>[number]

/** Creates the same anchor for a heading as GitHub, so that links within the files work. */
const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** Rewrites links to other guides, and unlinks files that are only in the repository. */
function rewriteLinks(tokens: Token[], file: string, guides: readonly Guide[]): Token[] {
  let isKept = true
  return tokens.filter((token) => {
    if (token.type === 'link_close') return isKept
    if (token.type !== 'link_open') return true
    const href = toServedLink(String(token.attrGet('href')), file, guides)
    isKept = href !== undefined
    if (href) token.attrSet('href', href)
    return isKept
  })
}

function toServedLink(href: string, file: string, guides: readonly Guide[]): string | undefined {
  if (/^(https?:|#|\/)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(file), path)
  const guide = guides.find((each) => each.file === target)
  return guide && `/docs/${guide.slug}${anchor ? `#${anchor}` : ''}`
}

const renderPage = ({ title, slug }: Guide, guides: readonly Guide[], body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 0 auto; max-width: 80rem; padding: 1.5rem }
nav { flex: 0 0 12rem } nav ul { list-style: none; margin: 0; padding: 0 } nav [aria-current] { font-weight: bold }
main { flex: 1 1 30rem; min-width: 0 } h1 { line-height: 1.2; margin-top: 0 }
pre, table { display: block; overflow-x: auto } pre, code { background: color-mix(in srgb, currentColor 8%, transparent) }
pre { padding: 0.75rem } pre code { background: none } table { border-collapse: collapse }
th, td { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); padding: 0.25rem 0.5rem; text-align: left; vertical-align: top }
</style>
</head>
<body>
<nav aria-label="Guides"><ul>
<li><a href="/docs">API</a></li>
${guides.map((each) => `<li><a href="/docs/${each.slug}"${each.slug === slug ? ' aria-current="page"' : ''}>${each.title}</a></li>`).join('\n')}
</ul></nav>
<main>
${body}</main>
</body>
</html>
`
