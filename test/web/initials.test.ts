import { describe, expect, test } from 'vitest'
import { getInitials } from '../../facades/web/app/shared/text/initials.ts'

describe('the initials of a person', () => {
  test.each([
    ['Ada Lovelace', 'AL'],
    ['ada', 'A'],
    ['Prof. Dr. Anna-Maria Groß', 'AG'],
    ['  émile   zola ', 'ÉZ'],
    ['O’Brien', 'O'],
    ['山田 太郎', '山太'],
    ['e\u0301va', 'E\u0301'],
    ['Dr.', 'D'],
    ['(extern) 4b', 'E4'],
    ['🙂 …', ''],
    ['', ''],
  ])('of %j are %j', (name, initials) => {
    expect(getInitials(name)).toBe(initials)
  })
})
