import MarkdownIt from 'markdown-it'
import { describe, expect, test } from 'vitest'
import { IncrementalMarkdown, parseMarkdown } from '../../facades/web/app/shared/markdown/parser.ts'
import { normalizeHtml, writeHtml } from '../kit/web/markdown-html.ts'
import { listOrdinaryAnswers } from '../kit/web/ordinary-answers.ts'

/** Another parser of CommonMark and the tables of GitHub, which writes all addresses as they are. */
const other = new MarkdownIt({ linkify: true })
other.validateLink = () => true
other.normalizeLink = (address) => address
other.normalizeLinkText = (address) => address

const answers = listOrdinaryAnswers()

/** The other parser takes the mark of a list for a cell in the tables, and CommonMark puts distance around the definition. */
const deviations = ['tables 2 in an item', 'tables 10 in an item', 'links 6 in an item']

describe('hundreds of ordinary answers', () => {
  test('have the blocks and marks that CommonMark gives them', () => {
    const differing = answers
      .map(([name, text]) => {
        const [ours, theirs] = [writeHtml(parseMarkdown(text).blocks), other.render(text)].map(normalizeHtml)
        return { name, text, ours, theirs }
      })
      .filter(({ ours, theirs }) => ours !== theirs)

    expect(answers.length).toBeGreaterThan(800)
    expect(differing.filter(({ name }) => !deviations.includes(name))).toEqual([])
    expect(differing.map(({ name }) => name).toSorted()).toEqual(deviations.toSorted())
  })

  test('look the same at each moment while they stream', () => {
    const differing = answers.filter(([, text], index) => {
      if (index % 3 !== 0) return false
      const parser = new IncrementalMarkdown()
      // Each answer is cut at other places.
      const ends = Array.from({ length: text.length / 97 }, (_, step) => step * 97 + (index % 97))
      return ends.some((end) => {
        const beginning = text.slice(0, end)
        return writeHtml(parser.parse(beginning)) !== writeHtml(parseMarkdown(beginning).blocks)
      })
    })

    expect(differing).toEqual([])
  })
})
