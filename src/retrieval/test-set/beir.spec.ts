import { describe, expect, it } from '@jest/globals';
import { readJudgements, readQueries, writeJudgements, writeQueries } from './beir.js';

describe('BEIR queries', () => {
  it('are a JSON object a line, with an _id and a text', () => {
    const file =
      '\ufeff{"_id": "q:1", "text": "What?", "metadata": {}}\r\n\n{"_id": 2, "text": "为什么？"}';
    expect(readQueries(file)).toEqual([
      { id: 'q:1', text: 'What?' },
      { id: '2', text: '为什么？' },
    ]);
  });

  it.each([
    '{"_id": "1"',
    '[]x',
    '"text"',
    '{"_id": "1"}',
    '{"text": "x"}',
    '{"_id":{},"text":"x"}',
  ])('that are %s are refused with their line', (line) => {
    expect(() => readQueries(`{"_id": "0", "text": "x"}\n\n${line}`)).toThrow(/queries: line 3/);
  });

  it('are written as they are read', () => {
    const queries = [{ id: '1', text: 'A "tab"\tand\na line' }];
    expect(readQueries(writeQueries(queries))).toEqual(queries);
  });
});

describe('BEIR judgements', () => {
  it('are three cells a line, with or without a header', () => {
    const lines = '1\tdoc one\t2\r\n1\tdoc-2\t0\n';
    const judgements = [
      { queryId: '1', corpusId: 'doc one', score: 2 },
      { queryId: '1', corpusId: 'doc-2', score: 0 },
    ];
    expect(readJudgements(lines)).toEqual(judgements);
    expect(readJudgements(`query-id\tcorpus-id\tscore\n${lines}`)).toEqual(judgements);
  });

  it.each(['1\t2', '1\t\t1', '1 2 1', '1\t2\tx', '1\t2\t1.5', '1\t2\t1\t4'])(
    'that are %j are refused with their line',
    (line) => {
      expect(() => readJudgements(`query-id\tcorpus-id\tscore\n${line}`)).toThrow(/qrels: line 2/);
    },
  );

  it('are written as they are read', () => {
    const judgements = [{ queryId: '1', corpusId: 'd', score: 3 }];
    expect(readJudgements(writeJudgements(judgements))).toEqual(judgements);
  });
});
