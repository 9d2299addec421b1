import { expect, test } from 'vitest'
import { buildWordPattern, foldText } from '../../facades/web/app/shared/text/word-pattern.ts'

const find = (words: string, text: string) => text.match(buildWordPattern(words) ?? /$^/)?.[0]

test.for([
  ['Müllerin', 'Die Mu\u0308llerin mahlt', 'Mu\u0308llerin'],
  ['Mu\u0308llerin', 'die müllerin', 'müllerin'],
  ['mullerin', 'Die Müllerin', 'Müllerin'],
  ['creme brulee', 'eine Crème\nbrûlée', 'Crème\nbrûlée'],
  ['crème', 'creme', 'creme'],
  ['Strasse', 'Hauptstraße 1', 'straße'],
  ['STRAßE', 'strasse', 'strasse'],
  ['Đorđe', 'đorđe', 'đorđe'],
  ['Việt', 'viet nam', 'viet'],
  ['λογος', 'λόγος', 'λόγος'],
  ['קם', 'קָם', 'קָם'],
  ['가', '\u1100\u1161', '\u1100\u1161'],
  ['が', '\u304b\u3099', '\u304b\u3099'],
  ['😀 a.b*[c]', '😀 a.b*[c]', '😀 a.b*[c]'],
])('«%s» is found in «%s» as it was written', ([words = '', text = '', found]) => {
  expect(find(words, text)).toBe(found)
})

test.for([
  ['a.b', 'aXb'],
  ['か', 'き'],
  ['कि', 'का'],
  ['Mueller', 'Müller'],
  [' \u0301 ', 'anything'],
])('«%s» is not found in «%s»', ([words = '', text = '']) => {
  expect(find(words, text)).toBeUndefined()
})

test('names are compared without accents and case', () => {
  expect(foldText('ÉTÉ à l’Île')).toBe(foldText('e\u0301te\u0301 a l’ile'))
})
