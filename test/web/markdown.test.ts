import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { IncrementalMarkdown, MAX_PARSED_LENGTH, parseMarkdown } from '../../facades/web/app/shared/markdown/parser.ts'
import { parseSafeLink } from '../../facades/web/app/shared/markdown/safe-link.ts'
import { repairMarkdown } from '../../facades/web/app/shared/markdown/streaming.ts'
import type { Block, Inline, InlineElement } from '../../facades/web/app/shared/markdown/tokens.ts'
import { hostileTexts } from '../kit/web/hostile-texts.ts'

const LENGTH = 16_000

const answers = new URL('../kit/web/answers/', import.meta.url)
const readAnswer = (name: string) => readFile(new URL(`${name}.md`, answers), 'utf8')

/** Writes parts of a line with the names of their elements. */
const writeLine = (content: readonly Inline[]): string =>
  content.map((part) => (typeof part === 'string' ? part : writeElement(part))).join('')

function writeElement(element: InlineElement): string {
  const inner = 'content' in element ? writeLine(element.content) : readWords(element)
  if (element.type === 'reference') return inner
  return element.type === 'break' ? '<br>' : `<${element.type}>${inner}</${element.type}>`
}

function readWords(element: InlineElement): string {
  const { number, tex, name, text } = { number: undefined, tex: undefined, name: undefined, text: '', ...element }
  return String(number ?? tex ?? name ?? text)
}

const writeBlocks = (blocks: readonly Block[]): unknown[] => blocks.map(writeBlock)

function writeBlock(block: Block): unknown {
  switch (block.type) {
    case 'heading':
      return { [`h${block.level}`]: writeLine(block.content) }
    case 'paragraph':
      return writeLine(block.content)
    case 'code':
      return { code: block.text, language: block.language }
    case 'quote':
      return { quote: writeBlocks(block.blocks), direction: block.direction }
    case 'list':
      return {
        [block.isOrdered ? `ol ${block.start}` : 'ul']: block.items.map(({ blocks }) => writeBlocks(blocks)),
        direction: block.direction,
      }
    case 'table':
      return {
        table: [block.header, ...block.rows].map((row) => row.map(writeLine)),
        direction: block.direction,
      }
    case 'maths':
      return { maths: block.tex }
    case 'notes':
      return { notes: block.notes.map(({ blocks }) => writeBlocks(blocks)) }
    case 'plain':
      return { plain: block.text }
    case 'rule':
      return { rule: true }
  }
}

const parse = (text: string) => writeBlocks(parseMarkdown(text).blocks)

/** The depth of the deepest element of a text. */
function findDepth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(findDepth))
}

describe.each(Object.entries(hostileTexts))('a text of many %s', (_, build) => {
  test('takes four times the steps when it is four times as long', () => {
    const [short, long] = [build(LENGTH / 4), build(LENGTH)].map((text) => parseMarkdown(text).steps / text.length)

    expect(long).toBeLessThan(1.5 * (short as number) + 1)
    expect(long).toBeLessThan(45)
  })

  test('nests no deeper than a page can show', () => {
    expect(findDepth(parseMarkdown(build(LENGTH)).blocks)).toBeLessThan(100)
  })

  test('takes few steps while it grows', () => {
    const text = build(400)
    for (let end = 0; end < text.length; end += 89) {
      const repaired = repairMarkdown(text.slice(0, end))
      expect(parseMarkdown(repaired).steps).toBeLessThan(5100 + 42 * repaired.length)
    }
  })
})

describe('a long text', () => {
  test('is shown as it was written from the bound on', () => {
    const text = 'A line of words.\n\n'.repeat(MAX_PARSED_LENGTH / 10)
    const { blocks } = parseMarkdown(text)

    expect(blocks.at(-1)?.type).toBe('plain')
    expect(blocks.map(({ source }) => source.trim()).join('\n\n').length).toBeGreaterThan(text.length - 10)
  })

  test('loses nothing where its elements become too many', () => {
    const text = '*a* '.repeat(30_000)

    expect(parse(text)).toEqual([{ plain: text }])
  })
})

const ordinary: [string, string, unknown[]][] = [
  [
    'a heading and a paragraph',
    '# One\nTwo *three* **four** ~~five~~',
    [{ h1: 'One' }, 'Two <em>three</em> <strong>four</strong> <del>five</del>'],
  ],
  ['nested emphasis', '***a** b* and **a *b***', ['<em><strong>a</strong> b</em> and <strong>a <em>b</em></strong>']],
  ['emphasis within words', 'un*believ*able snake_case_name', ['un<em>believ</em>able snake_case_name']],
  [
    'Chinese emphasis that ends with a mark',
    '**注意。**然后 和**“引用”**的',
    ['<strong>注意。</strong>然后 和<strong>“引用”</strong>的'],
  ],
  [
    'Japanese emphasis in parentheses',
    'これは**強調（きょうちょう）**です。',
    ['これは<strong>強調（きょうちょう）</strong>です。'],
  ],
  ['code with back-ticks', 'Use `` a`b `` and `c`', ['Use <code>a`b</code> and <code>c</code>']],
  ['a link with a title', '[a](https://a.example/(b) "t") b', ['<link>a</link> b']],
  ['a link by reference', '[a][1] and [1]\n\n[1]: https://a.example', ['<link>a</link> and <link>1</link>']],
  [
    'bare addresses',
    'See https://a.example/b_c?d=1. Or a@b.example!',
    ['See <link>https://a.example/b_c?d=1</link>. Or <link>a@b.example</link>!'],
  ],
  [
    'an address in brackets',
    '(https://a.example/b) <https://c.example>',
    ['(<link>https://a.example/b</link>) <link>https://c.example</link>'],
  ],
  ['an address in bold', '**https://a.example/b**', ['<strong><link>https://a.example/b</link></strong>']],
  [
    'a nested list',
    '1. a\n   - b\n   - c\n2. d',
    [{ 'ol 1': [['a', { ul: [['b'], ['c']], direction: 'ltr' }], ['d']], direction: 'ltr' }],
  ],
  ['a list behind a sentence', 'So:\n- a\n- b', ['So:', { ul: [['a'], ['b']], direction: 'ltr' }]],
  ['a list with an item that goes on', '- a\nb\n\n  c', [{ ul: [['a\nb', 'c']], direction: 'ltr' }]],
  ['a year that begins a line', 'It was\n1999. A year', ['It was\n1999. A year']],
  ['a quotation that goes on', '> a\nb\n\nc', [{ quote: ['a\nb'], direction: 'ltr' }, 'c']],
  ['code with tabs', '```make\nall:\n\tcc\n```', [{ code: 'all:\n\tcc', language: 'make' }]],
  ['code that is still being written', '```js\nlet a', [{ code: 'let a', language: 'js' }]],
  [
    'a table with a bar in code',
    '|a|b|\n|:-|-:|\n|`c\\|d`|e|',
    [
      {
        table: [
          ['a', 'b'],
          ['<code>c|d</code>', 'e'],
        ],
        direction: 'ltr',
      },
    ],
  ],
  ...[
    'From $5 to $10, $3.50 each',
    'A range of 5$-10$ a day',
    'It is $20 (= 18 €) paid in US$.',
    'Set $HOME/bin:$PATH',
    'It is $$ – moderate\n$$$ – expensive',
  ].map((text): [string, string, unknown[]] => [`no formula in «${text}»`, text, [text]]),
  [
    'formulas beside letters',
    'H$_2$O, 20$^\\circ$C, 3$\\times$3, $n$th, $`x`$, $ E = mc^2 $',
    [
      'H<maths>_2</maths>O, 20<maths>^\\circ</maths>C, 3<maths>\\times</maths>3, <maths>n</maths>th, <maths>x</maths>, <maths>E = mc^2</maths>',
    ],
  ],
  [
    'environments of TeX',
    'So:\n\\begin{align*}\na &= b\n\\end{align*}\n```math\nx^2\n```\n\\begin{tabular}',
    ['So:', { maths: '\\begin{align*}a &= b\\end{align*}' }, { maths: 'x^2' }, '\\begin{tabular}'],
  ],
  [
    'a sentence below a table in a list',
    '- a\n\n  |b|\n  |-|\n  |c|\nd',
    [{ ul: [['a', { table: [['b'], ['c']], direction: 'ltr' }]], direction: 'ltr' }, 'd'],
  ],
  [
    'formulas',
    'If $x$ and \\(y\\), then\n$$\nx=y\n$$',
    ['If <maths>x</maths> and <maths>y</maths>, then', { maths: 'x=y' }],
  ],
  [
    'tags of models',
    'H<sub>2</sub>O, x<sup>2</sup>, <kbd>Esc</kbd>, <b>a *b*</b>',
    ['H<sub>2</sub>O, x<sup>2</sup>, <kbd>Esc</kbd>, <strong>a <em>b</em></strong>'],
  ],
  [
    'tags with attributes and tags that nothing closes',
    '<b onclick="a">b</b> <sub>c <script>d</script>',
    ['<b onclick="a">b</b> <sub>c <script>d</script>'],
  ],
  ['generics and comparisons', 'List<String> if a < b && c > d', ['List<String> if a < b && c > d']],
  ['characters by number', '&#8364; &#x20ac; &amp; &nonsense', ['€ € & &nonsense']],
  ['names of no character', '&constructor; &toString;', ['<entity>constructor</entity> <entity>toString</entity>']],
  ['escaped marks', '\\*a\\* \\# \\!\\`', ['*a* # !`']],
  ['hard line ends', 'a  \nb\\\nc', ['a<br>b<br>c']],
  ['a heading with a line below it', 'a\n===\nb\n---\n\n---', [{ h1: 'a' }, { h2: 'b' }, { rule: true }]],
]

describe('an ordinary answer', () => {
  test.each(ordinary)('with %s is laid out', (_, text, blocks) => {
    expect(parse(text)).toEqual(blocks)
  })

  const seen: [string, unknown[]][] = [
    [
      'math-digit',
      [
        'Das Produkt ist <maths>2 \\times 3 = 6</maths>, der Fehler <maths>10^{-4}</maths>, und es gilt <maths>0 < a < 1</maths> sowie <maths>3t^2-2t^3</maths>.',
      ],
    ],
    ['math-spaces', ['Es gilt <maths>\\alpha = \\frac{1}{2}</maths> und <maths>\\beta</maths> ist frei.']],
    ['math-label', ['Es folgt', { maths: 'E = mc^2 \\tag{1}' }, 'und nach (1) gilt <maths>a=b</maths>.']],
    [
      'math-list',
      [
        {
          'ol 1': [
            ['Die Formel lautet:', { maths: '\\int_0^1 x\\,dx = \\tfrac12' }],
            ['Und im Satz <maths>\\sqrt{2}</maths> ebenso; Preis: $5.'],
          ],
          direction: 'ltr',
        },
      ],
    ],
    [
      'tilde',
      [
        'Rechne mit 5~7 Stunden und 100~200 EUR; beides (~1.34) und (~5.4) sind Näherungen. Das ist <del>falsch</del> richtig.',
      ],
    ],
    [
      'table-br',
      [
        {
          table: [
            ['Schritt', 'Inhalt'],
            ['Aufbau', 'Karte wählen<br>Rand messen<br>Notieren'],
            ['Abbau', 'fertig'],
          ],
          direction: 'ltr',
        },
      ],
    ],
    [
      'entities',
      [
        'Der Weg A <entity>rarr</entity> B kostet 5\u00a0<entity>euro</entity> <entity>mdash</entity> mehr nicht; gr<entity>ouml</entity><entity>szlig</entity>er <entity>ge</entity> 3, im Code steht <code>&lt;b&gt;</code>.',
      ],
    ],
    ['list-zero', [{ 'ol 0': [['Vorbereiten'], ['Messen'], ['Auswerten']], direction: 'ltr' }]],
    ['list-code', [{ 'ol 3': [['Drittens', { code: 'echo drei', language: 'sh' }], ['Viertens']], direction: 'ltr' }]],
    [
      'cjk-url',
      [
        '详见 <link>https://example.org/docs</link>（中文说明）了解更多，以及 <link>https://example.org/guide</link>，谢谢。',
      ],
    ],
    [
      'rtl-list',
      [
        'الخطوات هي:',
        { ul: [['الخطوة الأولى مع <code>npm install</code>'], ['الخطوة الثانية']], direction: 'rtl' },
        {
          table: [
            ['الاسم', 'العدد'],
            ['تفاح', '3'],
          ],
          direction: 'rtl',
        },
        { quote: ['اقتباس قصير'], direction: 'rtl' },
      ],
    ],
    [
      'footnotes',
      [
        'Die Rate lag bei 3 %<note>1</note> und stieg danach<note>2</note>.',
        { notes: [['<link>https://example.org/bericht</link>'], ['Meyer 2020, S. 3.']] },
      ],
    ],
    ['price-mixed', [expect.stringContaining('<strong>$148+ → $19</strong> (etwa $1,550 im Jahr)')]],
    [
      'pipe-table',
      [
        {
          table: [
            ['Zeichen', 'Name'],
            ['<code>a | b</code>', 'Strich'],
            ['x', 'y'],
            ['allein', ''],
          ],
          direction: 'ltr',
        },
      ],
    ],
    [
      'html-details',
      [
        '<details><summary>Mehr</summary>',
        'Innen steht <strong>fett</strong>.',
        '</details>',
        'Der Typ ist List<String> und Map<K, V>.',
      ],
    ],
    ['stars', ['In Python ist 2 ** 3 gleich 8 und a ** b eine Potenz, wie in der ersten Aufgabe schon gesagt wurde.']],
  ]

  test.each(seen)('from the field is laid out: %s', async (name, blocks) => {
    expect(parse(await readAnswer(name))).toEqual(blocks)
  })

  test('costs a fraction of what it may cost', async () => {
    for (const name of await readdir(answers)) {
      const text = await readFile(new URL(name, answers), 'utf8')
      expect(parseMarkdown(text).steps / (text.length + 100)).toBeLessThan(12)
    }
  })

  test('that streams is laid out like the whole one', async () => {
    for (const name of await readdir(answers)) {
      const text = (await readFile(new URL(name, answers), 'utf8')).trim()
      const parser = new IncrementalMarkdown()
      for (let end = 0; end < text.length; end += 3) parser.parse(text.slice(0, end))
      expect(writeBlocks(parser.parse(text))).toEqual(parse(text))
    }
  })

  test('that streams gets no marks that nobody wrote', async () => {
    const text = await readAnswer('stars')
    for (let end = 0; end <= text.length; end++) {
      const shown = writeBlocks(new IncrementalMarkdown().parse(repairMarkdown(text.slice(0, end)))).join('\n')
      expect(shown.match(/\*/g)?.length ?? 0).toBeLessThanOrEqual(text.slice(0, end).match(/\*/g)?.length ?? 0)
    }
  })

  test('keeps the finished blocks as they are while it grows', () => {
    const parser = new IncrementalMarkdown()
    const begin = 'a\n\nb\n\nc\n\nd'
    const [first] = parser.parse(begin)

    expect(parser.parse(`${begin}\n\ne`)[0]).toBe(first)
  })
})

describe('a link of a text', () => {
  const own = 'https://svc.example'
  const parseLink = (text: string) => {
    const [block] = parseMarkdown(text).blocks
    const [link] = block?.type === 'paragraph' ? block.content : []
    if (typeof link !== 'object' || link.type !== 'link') throw new Error('There is no link.')
    return parseSafeLink(link.href, link.words, own)
  }

  test.each([
    'www.bank.example',
    'https://bank.example/a',
    'bank&period;example',
    'bank&#46;example',
    'bank\u200b.example',
    '**bank**.example',
  ])('asks first where its words name another host: %s', (words) => {
    expect(parseLink(`[${words}](https://evil.example)`)?.isSuspicious).toBe(true)
  })

  test.each(['/logout', '/%6cogout/', '/logout?a#b'])('asks before it signs anybody out: %s', (path) => {
    expect(parseLink(`[Read on](${own}${path})`)?.href).toContain('?ask')
  })

  test('leads to other pages of the house as it is', () => {
    expect(parseLink(`[Room](${own}/rooms/a?b=c)`)).toMatchObject({ href: `${own}/rooms/a?b=c`, isSuspicious: false })
    expect(parseLink('[Away](https://a.example/logout)')?.href).toBe('https://a.example/logout')
  })
})
