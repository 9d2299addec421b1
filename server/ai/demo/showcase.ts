import type { LanguageModelV4Content } from '@ai-sdk/provider'

/** What a newcomer asks the demo model, as front ends offer it, to see what a page makes of an answer. */
const questions = ['What can this page show?', 'Was kann diese Seite zeigen?']

export const asksForShowcase = (question: string): boolean => questions.includes(question.trim())

/** What comes before it: a thought, and a tool that the provider itself would run. */
export const showcaseBefore: LanguageModelV4Content[] = [
  {
    type: 'reasoning',
    text: 'A newcomer asks what there is to see. I show one of each: a table, code, a formula, a tool.',
  },
  {
    type: 'tool-call',
    toolCallId: 'demo-lookup',
    toolName: 'demo_lookup',
    input: JSON.stringify({ topic: 'What an answer can have' }),
    providerExecuted: true,
  },
]

/** What comes behind it. */
export const showcaseAfter: LanguageModelV4Content[] = [
  {
    type: 'source',
    sourceType: 'url',
    id: 'demo-source',
    url: 'https://www.example.org/',
    title: 'An example of a source',
  },
]

/** Something of everything that an answer can have. */
export const showcase = `## What an answer can have

Text with **emphasis**, \`code\`, a [link](https://www.example.org/) and a formula: $e^{i\\pi} + 1 = 0$.

| Part | Example |
| --- | --- |
| Heading | above |
| List | below |

- one
- two
  1. and a number below it

\`\`\`python
def mean(values: list[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)
\`\`\`

$$\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i$$

> A real model of your administrator's choice answers in the same way.
`
