/** Words that made texts hard to read, each with what to write instead. A text is a string, a template or a comment. */
const TEXTS = [
  ['nobody', 'no user, no process, or say what does not happen'],
  ['somebody', 'a user, a process, or who it is'],
  ['everybody', 'every user'],
  ['anybody', 'any user'],
  ['whoever', 'name the role: the caller, a user, a process'],
  ['himself', 'themselves'],
  ['herself', 'themselves'],
  ['anew', 'again'],
  ['mend', 'correct, repair'],
  ['mends', 'corrects, repairs'],
  ['not to be had', 'not available'],
  ['broken off', 'interrupted, aborted'],
  ['broke off', 'was interrupted'],
  ['breaks off', 'is interrupted'],
  ['for ever', 'forever, or the limit'],
  ['to and fro', 'what is sent and received'],
  ['harness design', 'a file of this repository, such as docs/HARNESS.md'],
  ['client contract', 'a file of this repository, such as docs/WIRE.md'],
  ['the specification', 'a file of this repository, such as docs/WIRE.md'],
];

/** Names of declarations, whole words in camel case. */
const NAMES = [
  ['asker', 'caller'],
  ['carryOn', 'resume, continue'],
  ['carryOut', 'execute'],
  ['letGo', 'release'],
  ['told', 'what it returns or does'],
  ['standIns', 'placeholders'],
  ['doubt', 'markUncertain'],
];

/** Participles, which name no thing: refused as names of variables and parameters. Fields may be those of the wire. */
const PARTICIPLES = [
  ...['asked', 'begun', 'found', 'given', 'held', 'kept', 'known'],
  ...['made', 'own', 'said', 'seen', 'sent', 'shown', 'told'],
];

/** The beginning of a comment without a subject, such as "Of a request." */
const HEADLESS = /^\*?\s*(?:\*\s+)?(Of|By) /;

const textPattern = new RegExp(
  `(?<![\\w-])(${TEXTS.map(([word]) => word.replaceAll(' ', '\\s+(?:\\*\\s+)?')).join('|')})(?![\\w-])`,
  'gi',
);
const textAdvice = new Map(TEXTS);
const nameAdvice = new Map(NAMES.map(([name, advice]) => [name.toLowerCase(), advice]));

/** Refuses what a reader would stop at: words in strings, comments and names, participles as names, comments without a subject. */
export const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      word: 'Do not write "{{word}}". Write: {{advice}}.',
      participle: 'Do not name a variable "{{word}}". Say what it is.',
      headless: 'Do not begin a comment with "{{word}}". Say what it is about.',
    },
  },
  create(context) {
    const { sourceCode } = context;
    const check = (text, node) => {
      for (const [found] of text.matchAll(textPattern)) {
        const word = found.toLowerCase().replaceAll(/\s+(\*\s+)?/g, ' ');
        context.report({
          loc: node.loc,
          messageId: 'word',
          data: { word, advice: textAdvice.get(word) },
        });
      }
    };
    const checkComment = (comment) => {
      check(comment.value, comment);
      const word = HEADLESS.exec(comment.value)?.[1];
      if (word) context.report({ loc: comment.loc, messageId: 'headless', data: { word } });
    };
    const checkVariable = (node) => {
      checkName(node);
      if (node?.type !== 'Identifier' || !PARTICIPLES.includes(node.name)) return;
      context.report({ node, messageId: 'participle', data: { word: node.name } });
    };
    const checkName = (node) => {
      const advice = node?.type === 'Identifier' && nameAdvice.get(node.name.toLowerCase());
      if (advice) context.report({ node, messageId: 'word', data: { word: node.name, advice } });
    };
    return {
      Program: () => sourceCode.getAllComments().forEach(checkComment),
      Literal: (node) => typeof node.value === 'string' && check(node.value, node),
      TemplateElement: (node) => check(node.value.raw, node),
      VariableDeclarator: (node) => checkVariable(node.id),
      'FunctionDeclaration, ClassDeclaration, TSInterfaceDeclaration': (node) => checkName(node.id),
      'MethodDefinition, PropertyDefinition, TSPropertySignature, TSMethodSignature, Property': (
        node,
      ) => checkName(node.key),
      ':function > Identifier.params': checkVariable,
    };
  },
};
